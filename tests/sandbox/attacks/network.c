/* Rules: X3 X7
 * Attack: connects to services of the host, to cloud metadata and to the internet; without the
 *         filter, only the network namespace prevents it.
 * Args: $port
 * Expect: forbidden_syscall socket
 * Without NET: forbidden_syscall socket
 * Without SECCOMP: ok
 * Without SECCOMP CGROUP: ok
 * Without SECCOMP NET: nonzero_exit 1
 */
#include "attack.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define NO ENETUNREACH, EADDRNOTAVAIL, ENETDOWN, EHOSTUNREACH, EACCES

static void reach(const char *address, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int stream = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    must_work(stream);
    must_fail(connect(stream, (struct sockaddr *)&to, sizeof to), NO);
    int datagram = socket(AF_INET, SOCK_DGRAM, 0);
    must_work(datagram);
    must_fail(sendto(datagram, "", 0, 0, (struct sockaddr *)&to, sizeof to), NO);
}

static void reach_unix(int port)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int length = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "deemster-attack-%d", port);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int stream = socket(AF_UNIX, SOCK_STREAM, 0);
    must_work(stream);
    must_fail(connect(stream, (struct sockaddr *)&to, size), ECONNREFUSED);
}

static void look_at_interfaces(void)
{
    struct if_nameindex *all = if_nameindex();
    must_be(all != NULL);
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    for (struct if_nameindex *one = all; one && one->if_name; one++) {
        if (strcmp(one->if_name, "lo") != 0)
            got_through("the interface %s", one->if_name);
        struct ifreq request = {0};
        strncpy(request.ifr_name, one->if_name, IFNAMSIZ - 1);
        must_work(ioctl(any, SIOCGIFFLAGS, &request));
        must_be(!(request.ifr_flags & IFF_UP));
        request.ifr_flags |= IFF_UP;
        must_fail(ioctl(any, SIOCSIFFLAGS, &request), EPERM);
    }
}

int main(int count, char **arguments)
{
    start();
    int port = count > 1 ? atoi(arguments[1]) : 0;
    must_be(port > 0);
    reach("127.0.0.1", port);
    reach("169.254.169.254", 80);
    reach("192.0.2.1", 53);
    reach_unix(port);
    look_at_interfaces();
    must_fail(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
    must_fail(socket(AF_PACKET, SOCK_RAW, 0), EPERM);
    return held();
}
