/** Java: threads, the collector, memory beside it, children, how it ends. */
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.zip.Deflater;

class Modes {
	static void threads() throws Exception {
		var pool = Executors.newFixedThreadPool(8);
		List<Future<Integer>> all = new ArrayList<>();
		for (int i = 0; i < 100; i++) {
			int n = i;
			all.add(pool.submit(() -> new byte[1000 + n].length));
		}
		int sum = 0;
		for (var f : all)
			sum += f.get();
		pool.shutdown();
		System.out.println(sum);
	}

	static void collect() {
		int n = 0;
		for (int i = 0; i < 200; i++) {
			n += IntStream.range(0, 1000).mapToObj(Integer::toString).toList().size();
			if (i % 50 == 0)
				System.gc();
		}
		System.out.println(n);
	}

	static void direct() {
		int sum = 0;
		for (int i = 0; i < 300; i++)
			sum += ByteBuffer.allocateDirect(100000 + i).capacity();
		var d = new Deflater();
		d.setInput(new byte[100000]);
		d.finish();
		System.out.println(sum + d.deflate(new byte[1000]));
		d.end();
	}

	static void command() throws Exception {
		for (int i = 0; i < 3; i++) {
			var p = new ProcessBuilder("sh", "-c", "echo from Java; exit 3").inheritIO().start();
			System.out.println(p.waitFor());
		}
	}

	static int depth(int n) { return depth(n + 1) + 1; }

	static void overflow() {
		try {
			depth(0);
		} catch (StackOverflowError e) {
			System.out.println("too deep");
		}
		throw new IllegalStateException("as it should");
	}

	static void memory() {
		List<long[]> all = new ArrayList<>();
		try {
			while (true)
				all.add(new long[1 << 20]);
		} catch (OutOfMemoryError e) {
			all = null;
			System.out.println("no more");
		}
		System.exit(4);
	}

	public static void main(String[] words) throws Exception {
		switch (words[0]) {
		case "threads" -> threads();
		case "collect" -> collect();
		case "direct" -> direct();
		case "command" -> command();
		case "overflow" -> overflow();
		case "memory" -> memory();
		}
	}
}
