/* Where an HTTP call may go: the leading bits of an address. */
#include "http_net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool
http_net_parse(const char *text, struct http_net *ret)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN], *end;
	unsigned long bits;

	if (len == 0 || len >= sizeof address)
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	memset(ret, 0, sizeof *ret);
	ret->family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(ret->family, address, ret->bytes) != 1)
		return false;
	ret->bits = ret->family == AF_INET ? 32 : 128;
	if (!slash)
		return true;
	if (slash[1] < '0' || slash[1] > '9')
		return false;
	bits = strtoul(slash + 1, &end, 10);
	if (*end || bits > ret->bits)
		return false;
	ret->bits = (unsigned)bits;
	return true;
}

bool
http_net_holds(const struct http_net *net, const struct sockaddr *address)
{
	const uint8_t *bytes;
	unsigned full = net->bits / 8, rest = net->bits % 8;

	if (address->sa_family != net->family)
		return false;
	bytes = net->family == AF_INET
	    ? (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
	    : (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	if (memcmp(bytes, net->bytes, full) != 0)
		return false;
	return rest == 0 || (bytes[full] ^ net->bytes[full]) >> (8 - rest) == 0;
}
