/*
 * libevent's utilities can look up host names, which nothing here asks for: memwhy serves at
 * numeric addresses. Without these, a static program would carry the C library's resolver, which
 * needs shared libraries at run time, for nothing.
 */
#include <errno.h>
#include <netdb.h>
#include <stddef.h>

int getaddrinfo(
	const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)res;
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *res)
{
	(void)res; /* there is none */
}

struct servent *getservbyname(const char *name, const char *protocol)
{
	(void)name;
	(void)protocol;
	return NULL;
}

struct protoent *getprotobynumber(int number)
{
	(void)number;
	return NULL;
}
