package slotmark;

import com.bloxbean.cardano.yaci.core.protocol.chainsync.messages.Point;
import java.util.HashMap;
import java.util.Map;

/** The arguments of `run` and `follow`; see docs/targets.md. */
record Job(String socket, String address, String mode, long magic, Point start, long blocks, long every, boolean tip) {
  static Job parse(String[] words) {
    boolean tip = words[0].equals("follow"); // without blocks, depth and every
    Map<String, String> given = new HashMap<>();
    for (int at = 1; at < words.length; at += 2) {
      if (!words[at].startsWith("--") || at + 1 == words.length) {
        throw new IllegalArgumentException("'" + words[at] + "' is not an option with a value");
      }
      given.put(words[at].substring(2), words[at + 1]);
    }
    String mode = given.getOrDefault("mode", "");
    String place = mode.equals("decode") ? "socket" : mode.equals("headers") ? "address" : null;
    if (place == null) {
      throw new IllegalArgumentException("--mode " + mode + ": expected decode or headers");
    }
    if (!given.containsKey(place)) {
      throw new IllegalArgumentException(mode + " goes with --" + place);
    }
    if (!tip && number(given, "depth") != 1) {
      throw new IllegalArgumentException("--depth: the library has one request in flight, so 1");
    }
    return new Job(given.get("socket"), given.get("address"), mode, number(given, "magic"), point(given.getOrDefault("start", "")),
        tip ? Long.MAX_VALUE : number(given, "blocks"), tip ? Long.MAX_VALUE : number(given, "progress-every"), tip);
  }

  private static long number(Map<String, String> given, String name) {
    try {
      long value = Long.parseLong(given.getOrDefault(name, ""));
      if (value >= (name.equals("magic") ? 0 : 1)) {
        return value;
      }
    } catch (NumberFormatException ignored) {
      // said below
    }
    throw new IllegalArgumentException("--" + name + ": expected a whole number");
  }

  private static Point point(String text) {
    if (text.equals("origin")) {
      return Point.ORIGIN;
    }
    if (!text.matches("\\d+\\.[0-9a-f]{64}")) {
      throw new IllegalArgumentException("--start " + text + ": expected SLOT.HASH or origin");
    }
    int dot = text.indexOf('.');
    return new Point(Long.parseLong(text.substring(0, dot)), text.substring(dot + 1));
  }
}
