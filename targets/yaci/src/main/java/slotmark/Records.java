package slotmark;

import com.bloxbean.cardano.yaci.core.model.Block;
import com.bloxbean.cardano.yaci.core.model.HeaderBody;
import com.bloxbean.cardano.yaci.core.model.TransactionBody;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** The records of one run, held back until it is over. Yaci hides the bytes of what it parsed, so `bytes` is null. */
final class Records {
  private final long every;
  private final MessageDigest digest;
  private final List<String> held = new ArrayList<>();
  private long blocks;
  private long endedNs;
  private long slot;
  private String hash;

  Records(long every) throws NoSuchAlgorithmException {
    this.every = every;
    this.digest = MessageDigest.getInstance("SHA-256");
  }

  long blocks() {
    return blocks;
  }

  void started() {
    held.add("{\"event\":\"started\",\"at_ns\":" + System.nanoTime() + "}");
  }

  void decoded(Block block) {
    HeaderBody header = block.getHeader().getHeaderBody();
    int inputs = 0;
    int outputs = 0;
    long fees = 0;
    List<TransactionBody> transactions = block.getTransactionBodies();
    for (TransactionBody transaction : transactions) {
      inputs += transaction.getInputs().size();
      outputs += transaction.getOutputs().size();
      fees += transaction.getFee().longValueExact();
    }
    fold(header, ByteBuffer.allocate(60), transactions.size(), inputs, outputs, fees);
  }

  void header(HeaderBody header) {
    fold(header, ByteBuffer.allocate(40), 0, 0, 0, 0);
  }

  private void fold(HeaderBody header, ByteBuffer record, int transactions, int inputs, int outputs, long fees) {
    slot = header.getSlot();
    hash = header.getBlockHash();
    record.putLong(slot).put(HexFormat.of().parseHex(hash));
    if (record.hasRemaining()) {
      record.putInt(transactions).putInt(inputs).putInt(outputs).putLong(fees);
    }
    digest.update(record.array());
    if (blocks == 0) {
      held.add("{\"event\":\"first\",\"at_ns\":" + System.nanoTime() + "}");
    }
    blocks++;
    if (blocks % every == 0) {
      held.add("{\"event\":\"progress\",\"blocks\":" + blocks + ",\"bytes\":null,\"at_ns\":" + System.nanoTime() + ",\"digest\":\"" + soFar() + "\"}");
    }
  }

  private String soFar() {
    try {
      return HexFormat.of().formatHex(((MessageDigest) digest.clone()).digest());
    } catch (CloneNotSupportedException error) {
      throw new IllegalStateException(error); // the platform's SHA-256 can be cloned
    }
  }

  /** Prints a `block` record of the last block, with the time at which it was done with. */
  void atTip() {
    long at = System.nanoTime(); // the system's CLOCK_MONOTONIC, on Linux
    Main.say("{\"event\":\"block\",\"at_ns\":" + at + ",\"slot\":" + slot + ",\"hash\":\"" + hash + "\",\"digest\":\"" + soFar() + "\"}");
  }

  void ended() {
    endedNs = System.nanoTime();
  }

  void print() {
    held.forEach(Main::say);
    Main.say("{\"event\":\"done\",\"blocks\":" + blocks + ",\"bytes\":null,\"at_ns\":" + endedNs + ",\"slot\":" + slot + ",\"hash\":\"" + hash
        + "\",\"digest\":\"" + soFar() + "\"}");
  }
}
