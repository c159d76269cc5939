# A Java program that starts and warms up.
# @state healthy
# @group 8
# @needs javac
# @check 10
cat >"$ZOO_WORK/Warm.java" <<'J'
public class Warm {
	public static void main(String[] a) throws Exception {
		System.out.println("ready");
		System.out.flush();
		java.util.HashMap<Integer, byte[]> m = new java.util.HashMap<>();
		for (int i = 0;; i++) {
			m.put(i % 3000, new byte[20000]);
			if (i % 50 == 0)
				Thread.sleep(10);
		}
	}
}
J
cd "$ZOO_WORK" && javac Warm.java && exec java -Xmx256m Warm
