/* See syscall_value.h. Values from the kernel's uapi headers, as of 6.18. */
#include "sys/calls/syscall_value.h"

#include <arpa/inet.h>
#include <string.h>

#include "sys/calls/flags.h"
#include "sys/calls/quoted.h"
#include "sys/calls/syscall_flags.h"

/* clang-format off */
static const struct flag ip_protocols[] = {
	FLAG_VALUE(IPPROTO_IP, 0), FLAG_VALUE(IPPROTO_ICMP, 1), FLAG_VALUE(IPPROTO_IGMP, 2),
	FLAG_VALUE(IPPROTO_TCP, 6), FLAG_VALUE(IPPROTO_UDP, 17), FLAG_VALUE(IPPROTO_IPV6, 41),
	FLAG_VALUE(IPPROTO_GRE, 47), FLAG_VALUE(IPPROTO_ESP, 50), FLAG_VALUE(IPPROTO_ICMPV6, 58),
	FLAG_VALUE(IPPROTO_SCTP, 132), FLAG_VALUE(IPPROTO_UDPLITE, 136),
	FLAG_VALUE(IPPROTO_RAW, 255), FLAG_VALUE(IPPROTO_MPTCP, 262), FLAG_END,
};

static const struct flag netlink_protocols[] = {
	FLAG_VALUE(NETLINK_ROUTE, 0), FLAG_VALUE(NETLINK_USERSOCK, 2),
	FLAG_VALUE(NETLINK_SOCK_DIAG, 4), FLAG_VALUE(NETLINK_NFLOG, 5), FLAG_VALUE(NETLINK_XFRM, 6),
	FLAG_VALUE(NETLINK_SELINUX, 7), FLAG_VALUE(NETLINK_AUDIT, 9),
	FLAG_VALUE(NETLINK_CONNECTOR, 11), FLAG_VALUE(NETLINK_NETFILTER, 12),
	FLAG_VALUE(NETLINK_KOBJECT_UEVENT, 15), FLAG_VALUE(NETLINK_GENERIC, 16),
	FLAG_VALUE(NETLINK_CRYPTO, 21), FLAG_END,
};

static const struct flag levels[] = {
	FLAG_VALUE(SOL_IP, 0), FLAG_VALUE(SOL_SOCKET, 1), FLAG_VALUE(SOL_TCP, 6),
	FLAG_VALUE(SOL_UDP, 17), FLAG_VALUE(SOL_IPV6, 41), FLAG_VALUE(SOL_ICMPV6, 58),
	FLAG_VALUE(SOL_RAW, 255), FLAG_VALUE(SOL_PACKET, 263), FLAG_VALUE(SOL_NETLINK, 270),
	FLAG_VALUE(SOL_TLS, 282), FLAG_VALUE(SOL_MPTCP, 284), FLAG_END,
};

static const struct flag socket_options[] = {
	FLAG_VALUE(SO_DEBUG, 1), FLAG_VALUE(SO_REUSEADDR, 2), FLAG_VALUE(SO_TYPE, 3),
	FLAG_VALUE(SO_ERROR, 4), FLAG_VALUE(SO_DONTROUTE, 5), FLAG_VALUE(SO_BROADCAST, 6),
	FLAG_VALUE(SO_SNDBUF, 7), FLAG_VALUE(SO_RCVBUF, 8), FLAG_VALUE(SO_KEEPALIVE, 9),
	FLAG_VALUE(SO_OOBINLINE, 10), FLAG_VALUE(SO_NO_CHECK, 11), FLAG_VALUE(SO_PRIORITY, 12),
	FLAG_VALUE(SO_LINGER, 13), FLAG_VALUE(SO_BSDCOMPAT, 14), FLAG_VALUE(SO_REUSEPORT, 15),
	FLAG_VALUE(SO_PASSCRED, 16), FLAG_VALUE(SO_PEERCRED, 17), FLAG_VALUE(SO_RCVLOWAT, 18),
	FLAG_VALUE(SO_SNDLOWAT, 19), FLAG_VALUE(SO_RCVTIMEO_OLD, 20),
	FLAG_VALUE(SO_SNDTIMEO_OLD, 21), FLAG_VALUE(SO_BINDTODEVICE, 25),
	FLAG_VALUE(SO_ATTACH_FILTER, 26), FLAG_VALUE(SO_DETACH_FILTER, 27),
	FLAG_VALUE(SO_PEERNAME, 28), FLAG_VALUE(SO_TIMESTAMP_OLD, 29),
	FLAG_VALUE(SO_ACCEPTCONN, 30), FLAG_VALUE(SO_PEERSEC, 31), FLAG_VALUE(SO_SNDBUFFORCE, 32),
	FLAG_VALUE(SO_RCVBUFFORCE, 33), FLAG_VALUE(SO_PASSSEC, 34),
	FLAG_VALUE(SO_TIMESTAMPNS_OLD, 35), FLAG_VALUE(SO_MARK, 36), FLAG_VALUE(SO_PROTOCOL, 38),
	FLAG_VALUE(SO_DOMAIN, 39), FLAG_VALUE(SO_PEEK_OFF, 42), FLAG_VALUE(SO_BUSY_POLL, 46),
	FLAG_VALUE(SO_ATTACH_BPF, 50), FLAG_VALUE(SO_ZEROCOPY, 60), FLAG_END,
};

static const struct flag tcp_options[] = {
	FLAG_VALUE(TCP_NODELAY, 1), FLAG_VALUE(TCP_MAXSEG, 2), FLAG_VALUE(TCP_CORK, 3),
	FLAG_VALUE(TCP_KEEPIDLE, 4), FLAG_VALUE(TCP_KEEPINTVL, 5), FLAG_VALUE(TCP_KEEPCNT, 6),
	FLAG_VALUE(TCP_SYNCNT, 7), FLAG_VALUE(TCP_LINGER2, 8), FLAG_VALUE(TCP_DEFER_ACCEPT, 9),
	FLAG_VALUE(TCP_WINDOW_CLAMP, 10), FLAG_VALUE(TCP_INFO, 11), FLAG_VALUE(TCP_QUICKACK, 12),
	FLAG_VALUE(TCP_CONGESTION, 13), FLAG_VALUE(TCP_USER_TIMEOUT, 18),
	FLAG_VALUE(TCP_FASTOPEN, 23), FLAG_VALUE(TCP_NOTSENT_LOWAT, 25),
	FLAG_VALUE(TCP_ULP, 31), FLAG_END,
};

static const struct flag ip_options[] = {
	FLAG_VALUE(IP_TOS, 1), FLAG_VALUE(IP_TTL, 2), FLAG_VALUE(IP_HDRINCL, 3),
	FLAG_VALUE(IP_OPTIONS, 4), FLAG_VALUE(IP_PKTINFO, 8), FLAG_VALUE(IP_MTU_DISCOVER, 10),
	FLAG_VALUE(IP_RECVERR, 11), FLAG_VALUE(IP_RECVTTL, 12), FLAG_VALUE(IP_MTU, 14),
	FLAG_VALUE(IP_FREEBIND, 15), FLAG_VALUE(IP_TRANSPARENT, 19),
	FLAG_VALUE(IP_BIND_ADDRESS_NO_PORT, 24), FLAG_VALUE(IP_MULTICAST_IF, 32),
	FLAG_VALUE(IP_MULTICAST_TTL, 33), FLAG_VALUE(IP_MULTICAST_LOOP, 34),
	FLAG_VALUE(IP_ADD_MEMBERSHIP, 35), FLAG_VALUE(IP_DROP_MEMBERSHIP, 36), FLAG_END,
};

static const struct flag ipv6_options[] = {
	FLAG_VALUE(IPV6_UNICAST_HOPS, 16), FLAG_VALUE(IPV6_MULTICAST_IF, 17),
	FLAG_VALUE(IPV6_MULTICAST_HOPS, 18), FLAG_VALUE(IPV6_MULTICAST_LOOP, 19),
	FLAG_VALUE(IPV6_ADD_MEMBERSHIP, 20), FLAG_VALUE(IPV6_DROP_MEMBERSHIP, 21),
	FLAG_VALUE(IPV6_MTU_DISCOVER, 23), FLAG_VALUE(IPV6_MTU, 24), FLAG_VALUE(IPV6_RECVERR, 25),
	FLAG_VALUE(IPV6_V6ONLY, 26), FLAG_VALUE(IPV6_RECVPKTINFO, 49),
	FLAG_VALUE(IPV6_PKTINFO, 50), FLAG_VALUE(IPV6_TCLASS, 67), FLAG_END,
};
/* clang-format on */

static const struct {
	u32 level;
	const struct flag *options;
} options[] = {
	{0, ip_options},
	{1, socket_options},
	{6, tcp_options},
	{41, ipv6_options},
};

static const struct flag unnamed[] = {FLAG_END};

enum { UNIX = 1, INET = 2, INET6 = 10, NETLINK = 16 };

void protocol_add(struct str *s, u32 family, u32 protocol)
{
	flags_add(s,
		family == INET || family == INET6 ? ip_protocols
		: family == NETLINK               ? netlink_protocols
						  : unnamed,
		protocol);
}

void socket_level_add(struct str *s, u32 level)
{
	flags_add(s, levels, level);
}

void socket_option_add(struct str *s, u32 level, u32 option)
{
	const struct flag *table = unnamed;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].level == level)
			table = options[i].options;
	flags_add(s, table, option);
}

static u16 u16_at(const char *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 socket_value_u32_at(const char *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void inet_add(struct str *s, const char *p)
{
	char text[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, p + 4, text, sizeof(text));
	str_addf(s, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")", ntohs(u16_at(p + 2)), text);
}

static void inet6_add(struct str *s, const char *p)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, p + 8, text, sizeof(text));
	str_addf(s,
		", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), inet_pton(AF_INET6, \"%s\", "
		"&sin6_addr), sin6_scope_id=%u",
		ntohs(u16_at(p + 2)), ntohl(socket_value_u32_at(p + 4)), text,
		socket_value_u32_at(p + 24));
}

/* A path up to its NUL, or a name of its own space behind a NUL. */
static void unix_add(struct str *s, const char *p, u32 n)
{
	if (!n)
		return;
	str_add(s, ", sun_path=");
	if (p[0] || n == 1) {
		quoted_add(s, p, (u32)strnlen(p, n), false);
		return;
	}
	str_addc(s, '@');
	quoted_add(s, p + 1, n - 1, false);
}

bool sockaddr_add(struct str *s, const void *p, u32 n)
{
	const char *bytes = p, *name;
	u32 family;

	if (n < 2)
		return false;
	family = u16_at(bytes);
	name = address_family(family);
	str_add(s, "{sa_family=");
	if (name)
		str_add(s, name);
	else
		str_add_hex(s, family);
	if (family == INET && n >= 8)
		inet_add(s, bytes);
	else if (family == INET6 && n >= 28)
		inet6_add(s, bytes);
	else if (family == UNIX)
		unix_add(s, bytes + 2, n - 2);
	else if (family == NETLINK && n >= 12)
		str_addf(s, ", nl_pid=%u, nl_groups=0x%06x", socket_value_u32_at(bytes + 4),
			socket_value_u32_at(bytes + 8));
	else if (n > 2) {
		str_add(s, ", sa_data=");
		quoted_add(s, bytes + 2, n - 2, false);
	}
	str_addc(s, '}');
	return true;
}
