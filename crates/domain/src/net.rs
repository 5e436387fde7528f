//! Ranges of addresses, and which addresses lie on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Any address in it.
    pub address: IpAddr,
    /// Leading bits that count.
    pub bits: u8,
}

impl Network {
    /// Whether the address lies in the range. An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                same_head(u32::from(net).into(), u32::from(ip).into(), 32 - self.bits)
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => same_head(net.into(), ip.into(), 128 - self.bits),
            _ => false,
        }
    }
}

/// Whether two addresses agree but for the last `free` bits.
fn same_head(a: u128, b: u128, free: u8) -> bool {
    (a ^ b).checked_shr(u32::from(free)).unwrap_or(0) == 0
}

/// IPv4 ranges that are not globally routable (IANA special-purpose registry), multicast and reserved space included.
const PRIVATE_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The only part of IPv6 that is handed out as global unicast.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The ranges of it that are not public: protocol assignments with Teredo, documentation, and 6to4, which hides an IPv4
/// address.
const PRIVATE_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether the address is globally routable; an IPv4 address mapped into IPv6 is judged as IPv4 (spec:
/// systems#reachability).
pub fn is_global(address: IpAddr) -> bool {
    let within = |net: IpAddr, bits: u8| Network { address: net, bits }.contains(address);
    match address.to_canonical() {
        IpAddr::V4(_) => !PRIVATE_V4.iter().any(|(net, bits)| within((*net).into(), *bits)),
        IpAddr::V6(_) => {
            within(GLOBAL_V6.0.into(), GLOBAL_V6.1)
                && !PRIVATE_V6.iter().any(|(net, bits)| within((*net).into(), *bits))
        }
    }
}

/// The IPv4 address that an IPv6 address leads to: mapped, through 6to4 (2002::/16) or through the well-known prefix of
/// NAT64 (64:ff9b::/96); any other address as it is.
pub fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        (0x2002, _) => v4(b, c),
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => v4(g, h),
        _ => address.to_canonical(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_inside_an_address_counts() {
        for (address, expected) in [
            ("8.8.8.8", "8.8.8.8"),
            ("::ffff:127.0.0.1", "127.0.0.1"),
            ("2002:7f00:1::5", "127.0.0.1"),
            ("64:ff9b::a00:1", "10.0.0.1"),
            ("64:ff9b:1::a00:1", "64:ff9b:1::a00:1"),
            ("64:ff9b:0:1::a00:1", "64:ff9b:0:1::a00:1"),
            ("2606:4700::1111", "2606:4700::1111"),
        ] {
            assert_eq!(unwrapped(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap(), "{address}");
        }
    }

    #[test]
    fn only_addresses_of_the_public_internet_are_global() {
        for address in [
            "8.8.8.8",
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_global(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::808:808",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_global(address.parse().unwrap()), "{address}");
        }
    }
}
