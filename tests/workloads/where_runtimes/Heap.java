import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.ArrayList;
import java.util.List;

/** Holds 40 MiB, collects, prints "NAME USED COMMITTED" of each pool of memory, then "ready". */
public class Heap {
	public static void main(String[] args) throws Exception {
		List<byte[]> held = new ArrayList<>();

		for (int i = 0; i < 40; i++)
			held.add(new byte[1000000]);
		System.gc();
		Thread.sleep(200);
		for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
			System.out.println(pool.getName().replace(' ', '_') + " "
					+ pool.getUsage().getUsed() + " " + pool.getUsage().getCommitted());
		System.out.println("ready");
		System.in.read();
		System.out.println(held.size());
	}
}
