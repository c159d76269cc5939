# A Java service whose cache fills the heap that it may have: it does little but collect garbage.
# @state sick
# @group 8
# @needs javac
# @who PID
# @cause collecting garbage: its heap of 256 MiB is too small
# @check 12
cat >"$ZOO_WORK/Full.java" <<'J'
public class Full {
	public static void main(String[] a) throws Exception {
		java.util.ArrayList<long[][]> kept = new java.util.ArrayList<>();
		Runtime r = Runtime.getRuntime();
		while (kept.size() < 560) {
			long[][] rows = new long[1000][];
			for (int i = 0; i < 1000; i++)
				rows[i] = new long[50];
			kept.add(rows);
		}
		Thread.sleep(21000);
		System.out.println("ready");
		System.out.flush();
		for (int i = 0;; i++) {
			long[][] rows = new long[1000][];
			for (int k = 0; k < 1000; k++)
				rows[k] = new long[50];
			kept.set(i % kept.size(), rows);
		}
	}
}
J
cd "$ZOO_WORK" && javac Full.java && exec java -Xmx256m Full
