// Linked into the static program. The modules that /etc/nsswitch.conf names (resolve, myhostname, systemd, sss …) belong to the
// C library of the machine; in a program with a C library of its own, another version of them crashes it. So hosts come from
// /etc/hosts and the servers of /etc/resolv.conf alone, and users from /etc/passwd.
#include <nss.h>

__attribute__((constructor)) static void ask_no_modules(void) {
    const char *const from_files[] = {"passwd", "group", "initgroups", "services", "protocols", "networks"};
    __nss_configure_lookup("hosts", "files dns");
    for (unsigned i = 0; i < sizeof from_files / sizeof *from_files; i++)
        __nss_configure_lookup(from_files[i], "files");
}
