package slotmark;

import com.bloxbean.cardano.yaci.core.model.Block;
import com.bloxbean.cardano.yaci.core.model.BlockHeader;
import com.bloxbean.cardano.yaci.core.network.NodeClient;
import com.bloxbean.cardano.yaci.core.network.TCPNodeClient;
import com.bloxbean.cardano.yaci.core.network.UnixSocketNodeClient;
import com.bloxbean.cardano.yaci.core.protocol.Agent;
import com.bloxbean.cardano.yaci.core.protocol.chainsync.messages.Point;
import com.bloxbean.cardano.yaci.core.protocol.chainsync.messages.Tip;
import com.bloxbean.cardano.yaci.core.protocol.chainsync.n2c.LocalChainSyncAgent;
import com.bloxbean.cardano.yaci.core.protocol.chainsync.n2c.LocalChainSyncAgentListener;
import com.bloxbean.cardano.yaci.core.protocol.chainsync.n2n.ChainSyncAgentListener;
import com.bloxbean.cardano.yaci.core.protocol.chainsync.n2n.ChainsyncAgent;
import com.bloxbean.cardano.yaci.core.protocol.handshake.HandshakeAgent;
import com.bloxbean.cardano.yaci.core.protocol.handshake.HandshakeAgentListener;
import com.bloxbean.cardano.yaci.core.protocol.handshake.messages.Reason;
import com.bloxbean.cardano.yaci.core.protocol.handshake.util.N2CVersionTableConstant;
import com.bloxbean.cardano.yaci.core.protocol.handshake.util.N2NVersionTableConstant;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Yaci as a target of slotmark: see docs/targets.md for the contract. */
public final class Main {
  private static final PrintStream OUT = System.out;

  private final Job job;
  private final Records records;
  private final CompletableFuture<Void> shaken = new CompletableFuture<>();
  private final CompletableFuture<Void> go = new CompletableFuture<>();
  private final CompletableFuture<Void> finished = new CompletableFuture<>();
  private Agent<?> chainSync;

  private Main(Job job) throws Exception {
    this.job = job;
    this.records = new Records(job.every());
  }

  public static void main(String[] words) throws Exception {
    System.setOut(System.err); // whatever a library prints is not a record
    if (words.length > 0 && words[0].equals("describe")) {
      say("{\"contract\":1,\"name\":\"yaci\",\"version\":\"0.3.8\",\"language\":\"Java\",\"toolchain\":\"Java " + System.getProperty("java.version")
          + "\",\"modes\":{\"decode\":1,\"headers\":1},\"follow\":[\"decode\",\"headers\"]}");
      return;
    }
    Job job;
    try {
      if (words.length == 0 || !(words[0].equals("run") || words[0].equals("follow"))) {
        throw new IllegalArgumentException("expected describe, run or follow");
      }
      job = Job.parse(words);
    } catch (IllegalArgumentException error) {
      System.err.println("slotmark-target-yaci: " + error.getMessage()
          + "\nusage: describe | run (--socket PATH | --address HOST:PORT) --magic N --start POINT --blocks N --mode MODE --depth N --progress-every N"
          + " | follow (--socket PATH | --address HOST:PORT) --magic N --start POINT --mode MODE");
      System.exit(2);
      return;
    }
    try {
      new Main(job).run();
      System.exit(0);
    } catch (Exception error) {
      Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
      String message = String.valueOf(cause.getMessage()).replaceAll("\\s+", " ").replace("\\", "\\\\").replace("\"", "'");
      say("{\"event\":\"error\",\"message\":\"" + message + "\"}");
      Runtime.getRuntime().halt(1); // the library would go on to reconnect
    }
  }

  static void say(String record) {
    OUT.println(record);
    OUT.flush();
  }

  private void run() throws Exception {
    long began = System.nanoTime();
    NodeClient client = job.mode().equals("decode") ? nodeToClient() : nodeToNode();
    client.start();
    try {
      shaken.get(30, TimeUnit.SECONDS);
    } catch (TimeoutException error) {
      throw new IllegalStateException("can't connect: no handshake within 30 s");
    }
    long at = System.nanoTime();
    say("{\"event\":\"ready\",\"at_ns\":" + at + ",\"connect_ns\":" + (at - began) + ",\"version\":" + chainSync.getProtocolVersion().getVersionNumber() + "}");
    BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in));
    stdin.readLine();
    if (job.tip()) {
      Thread end = new Thread(() -> endWith(stdin));
      end.setDaemon(true);
      end.start();
    }
    go.complete(null);
    finished.get();
    records.print();
    while (stdin.readLine() != null) {
      // wait for the end
    }
  }

  /** Ends the process when standard input ends. */
  private static void endWith(BufferedReader stdin) {
    try {
      while (stdin.readLine() != null) {
        // wait for the end
      }
    } catch (java.io.IOException ignored) {
      // that is an end too
    }
    Runtime.getRuntime().halt(0); // the library would go on to reconnect
  }

  private HandshakeAgent handshake(HandshakeAgent agent) {
    agent.addListener(new HandshakeAgentListener() {
      @Override
      public void handshakeOk() {
        shaken.complete(null);
        go.join();
        // The agent's first message finds the intersection; `started` is taken when it is found. It must be sent here, from the
        // channel's thread: an agent changes its state after sending, and a quick reply would meet the old one and be lost.
        chainSync.sendNextMessage();
      }

      @Override
      public void handshakeError(Reason reason) {
        shaken.completeExceptionally(new IllegalStateException("the server refused the handshake: " + reason));
      }

      @Override
      public void onDisconnect() {
        lost("the server closed the connection");
      }
    });
    return agent;
  }

  private void lost(String why) {
    shaken.completeExceptionally(new IllegalStateException(why));
    finished.completeExceptionally(new IllegalStateException(why));
  }

  private NodeClient nodeToClient() {
    if (!Files.exists(Path.of(job.socket()))) {
      throw new IllegalStateException("can't connect: there is no socket at " + job.socket());
    }
    LocalChainSyncAgent agent = new LocalChainSyncAgent(new Point[] {job.start()});
    chainSync = agent;
    agent.addListener(new LocalChainSyncAgentListener() {
      @Override
      public void intersactFound(Tip tip, Point point) {
        begin();
      }

      @Override
      public void intersactNotFound(Tip tip) {
        lost("the intersection was not found");
      }

      @Override
      public void rollforward(Tip tip, Block block) {
        if (records.blocks() < job.blocks()) {
          records.decoded(block);
          next();
        }
      }

      @Override
      public void rollbackward(Tip tip, Point to) {
        back(to);
      }
    });
    return new UnixSocketNodeClient(job.socket(), handshake(new HandshakeAgent(N2CVersionTableConstant.v1AndAbove(job.magic()))), agent);
  }

  private NodeClient nodeToNode() throws Exception {
    int colon = job.address().lastIndexOf(':');
    String host = job.address().substring(0, colon);
    int port = Integer.parseInt(job.address().substring(colon + 1));
    new java.net.Socket(host, port).close(); // the library would try for ever, and say nothing
    ChainsyncAgent agent = new ChainsyncAgent(new Point[] {job.start()});
    chainSync = agent;
    agent.addListener(new ChainSyncAgentListener() {
      @Override
      public void intersactFound(Tip tip, Point point) {
        begin();
      }

      @Override
      public void intersactNotFound(Tip tip) {
        lost("the intersection was not found");
      }

      @Override
      public void rollforward(Tip tip, BlockHeader header) {
        if (records.blocks() < job.blocks()) {
          records.header(header.getHeaderBody());
          agent.confirmBlock(new Point(header.getHeaderBody().getSlot(), header.getHeaderBody().getBlockHash()));
          next();
        }
      }

      @Override
      public void rollbackward(Tip tip, Point to) {
        back(to);
      }
    });
    return new TCPNodeClient(host, port, handshake(new HandshakeAgent(N2NVersionTableConstant.v4AndAbove(job.magic()))), agent);
  }

  private void begin() {
    records.started();
    chainSync.sendNextMessage();
  }

  private void next() {
    if (job.tip()) {
      records.atTip();
    }
    if (records.blocks() == job.blocks()) {
      records.ended();
      finished.complete(null);
    } else {
      chainSync.sendNextMessage();
    }
  }

  private void back(Point to) {
    if (job.tip() || records.blocks() == 0) {
      chainSync.sendNextMessage();
    } else {
      lost("a roll-backward to slot " + to.getSlot());
    }
  }
}
