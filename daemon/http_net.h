/* Networks in the way people write them, and which addresses they hold. Pure. */
#ifndef EFFECTD_HTTP_NET_H
#define EFFECTD_HTTP_NET_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

/* An address with the number of its leading bits that count. */
struct http_net {
	int family; /* AF_INET, AF_INET6 */
	uint8_t bytes[16];
	unsigned bits;
};

/* "10.0.0.0/8", "10.1.2.3", "::1", ...: false (ret undefined) if it is none. */
bool http_net_parse(const char *text, struct http_net *ret);
bool http_net_holds(const struct http_net *net, const struct sockaddr *address);

#endif
