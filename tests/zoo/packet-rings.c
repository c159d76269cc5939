/*
 * A capture tool with rings that are far too large: pages of the kernel that no counter shows.
 * @state sick
 * @group 2
 * @who packet-rings
 * @cause packet|ring
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "zoo.h"

int main(void)
{
	for (int i = 0; i < 3; i++) {
		int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_LOOP));
		struct tpacket_req q = {.tp_block_size = 1 << 18,
			.tp_block_nr = 512,
			.tp_frame_size = 2048,
			.tp_frame_nr = 512 * 128};

		if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &q, sizeof(q)))
			err(1, "packet ring");
	}
	zoo_ready();
	zoo_wait();
}
