/*
 * A capture tool that maps its rings, as most do: how large they are is known then.
 * @state sick
 * @group 2
 * @who rings-mapped
 * @cause rings that .*maps
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>

#include "zoo.h"

#define RING (128UL << 20)

int main(void)
{
	for (int i = 0; i < 3; i++) {
		int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_LOOP));
		struct tpacket_req q = {.tp_block_size = 1 << 18,
			.tp_block_nr = RING >> 18,
			.tp_frame_size = 2048,
			.tp_frame_nr = RING / 2048};

		if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &q, sizeof(q)) ||
			mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
			err(1, "packet ring");
	}
	zoo_ready();
	zoo_wait();
}
