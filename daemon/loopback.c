/* The text is cut at its last colon; the host is inet_pton()'s to read, so that no resolver is ever
 * asked. */
#include "loopback.h"

#include "text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define PORT_MAX 65535

static bool
loopback_host(const char *host, struct sockaddr_storage *ret, socklen_t *ret_len, in_port_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};

	memset(ret, 0, sizeof *ret);
	if (strcmp(host, "[::1]") == 0) {
		v6.sin6_addr = in6addr_loopback;
		memcpy(ret, &v6, sizeof v6);
		*ret_len = sizeof v6;
		return true;
	}
	if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4.sin_addr) !=
		1 ||
	    ntohl(v4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET)
		return false;
	memcpy(ret, &v4, sizeof v4);
	*ret_len = sizeof v4;
	return true;
}

bool
loopback_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	char host[sizeof "255.255.255.255"];
	const char *colon = strrchr(text, ':');
	struct sockaddr_storage address;
	int64_t port;
	socklen_t len;

	if (!colon || (size_t)(colon - text) >= sizeof host ||
	    !text_int(colon + 1, 0, PORT_MAX, &port))
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	if (!loopback_host(host, &address, &len, htons((in_port_t)port)))
		return false;
	*ret = address;
	*ret_len = len;
	return true;
}
