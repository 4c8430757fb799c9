"""What IANA says: the special-purpose registries of both families, and what we refuse
beyond them, as plain tables.

Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), read in
2026; the column is "globally reachable". N/A (Teredo, 6to4) and the blanks of what has
been given up count as no.
"""

IPV4 = """
0.0.0.0/8            no   "This network"
0.0.0.0/32           no   "This host on this network"
10.0.0.0/8           no   Private-Use
100.64.0.0/10        no   Shared Address Space
127.0.0.0/8          no   Loopback
169.254.0.0/16       no   Link Local
172.16.0.0/12        no   Private-Use
192.0.0.0/24         no   IETF Protocol Assignments
192.0.0.0/29         no   IPv4 Service Continuity Prefix
192.0.0.8/32         no   IPv4 dummy address
192.0.0.9/32         yes  Port Control Protocol Anycast
192.0.0.10/32        yes  Traversal Using Relays around NAT Anycast
192.0.0.170/32       no   NAT64/DNS64 Discovery
192.0.0.171/32       no   NAT64/DNS64 Discovery
192.0.2.0/24         no   Documentation (TEST-NET-1)
192.31.196.0/24      yes  AS112-v4
192.52.193.0/24      yes  AMT
192.88.99.0/24       no   Deprecated (6to4 Relay Anycast)
192.88.99.2/32       no   6a44-relay anycast address
192.168.0.0/16       no   Private-Use
192.175.48.0/24      yes  Direct Delegation AS112 Service
198.18.0.0/15        no   Benchmarking
198.51.100.0/24      no   Documentation (TEST-NET-2)
203.0.113.0/24       no   Documentation (TEST-NET-3)
224.0.0.0/4          no   (IPv4 Multicast Address Space Registry)
240.0.0.0/4          no   Reserved
255.255.255.255/32   no   Limited Broadcast
"""

# The rows that begin with (...) are of the IPv6 address space registry: all but
# 2000::/3 is reserved or not unicast.
IPV6 = """
::/0                 no   (Internet Protocol Version 6 Address Space: not handed out)
2000::/3             yes  (Internet Protocol Version 6 Address Space: Global Unicast)
::1/128              no   Loopback Address
::/128               no   Unspecified Address
::ffff:0:0/96        no   IPv4-mapped Address
64:ff9b::/96         yes  IPv4-IPv6 Translat.
64:ff9b:1::/48       no   IPv4-IPv6 Translat.
100::/64             no   Discard-Only Address Block
100:0:0:1::/64       no   Dummy IPv6 Prefix
2001::/23            no   IETF Protocol Assignments
2001::/32            no   TEREDO
2001:1::1/128        yes  Port Control Protocol Anycast
2001:1::2/128        yes  Traversal Using Relays around NAT Anycast
2001:1::3/128        yes  DNS-SD Service Registration Protocol Anycast
2001:2::/48          no   Benchmarking
2001:3::/32          yes  AMT
2001:4:112::/48      yes  AS112-v6
2001:10::/28         no   Deprecated (previously ORCHID)
2001:20::/28         yes  ORCHIDv2
2001:30::/28         yes  Drone Remote ID Protocol Entity Tags (DETs) Prefix
2001:db8::/32        no   Documentation
2002::/16            no   6to4
2620:4f:8000::/48    yes  Direct Delegation AS112 Service
3fff::/20            no   Documentation
5f00::/16            no   Segment Routing (SRv6) SIDs
fc00::/7             no   Unique-Local
fe80::/10            no   Link-Local Unicast
fec0::/10            no   (Internet Protocol Version 6 Address Space: Site-Local, deprecated)
ff00::/8             no   (Internet Protocol Version 6 Address Space: Multicast)
"""

# Reachable by the registries, and refused by us: no site is there. ISATAP (any prefix,
# RFC 5214) comes on top.
BEYOND = """
168.63.129.16/32
192.0.0.9/32
192.0.0.10/32
192.31.196.0/24
192.52.193.0/24
192.175.48.0/24
2001:1::1/128
2001:1::2/128
2001:1::3/128
2001:3::/32
2001:4:112::/48
2001:20::/28
2001:30::/28
2620:4f:8000::/48
"""
