/* Rules: X3 X4 X7
 * Attack: opens a socket, of any family.
 * Each: unix inet inet6 netlink packet alg vsock bluetooth xdp
 * Expect: forbidden_syscall socket
 * Without NET: forbidden_syscall socket
 * Only SECCOMP: forbidden_syscall socket
 */
#include "attack.h"
#include <sys/socket.h>

int main(int count, char **arguments)
{
    start();
    const struct {
        const char *name;
        int family;
    } families[] = {{"unix", AF_UNIX},       {"inet", AF_INET},           {"inet6", AF_INET6},
                    {"netlink", AF_NETLINK}, {"packet", AF_PACKET},       {"alg", AF_ALG},
                    {"vsock", AF_VSOCK},     {"bluetooth", AF_BLUETOOTH}, {"xdp", AF_XDP}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (count > 1 && strcmp(arguments[1], families[i].name) == 0)
            socket(families[i].family, SOCK_DGRAM, 0);
    got_through("a socket: %s", strerror(errno));
    return held();
}
