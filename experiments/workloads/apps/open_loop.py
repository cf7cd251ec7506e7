# SPDX-License-Identifier: GPL-2.0-only
"""Loads a server of keys, then asks it by a schedule that does not wait for its answers.

A client that sends when the answer before has come sends little while the server is slow, and so leaves out the
latencies that matter (coordinated omission). Here the times of all requests are drawn before, and a latency is from
the time that a request was due at, not from when it could be sent.
"""

import argparse
import json
import math
import random
import selectors
import socket
import time
from collections import deque
from typing import NamedTuple

BATCH = 256       # requests in flight while it loads
LATE_LIMIT = 120  # s after the last request was due
CONNECT_LIMIT = 60  # s
TURN = 0.1        # s, between two looks at a deadline
LEAD = 0.1        # s, from the begin of the schedule to its time 0
SHOWN = 60        # bytes of an answer in an error


class Request(NamedTuple):
    text: bytes
    answer: bytes


class Memcached:
    @staticmethod
    def build_get(key: bytes, value: bytes) -> Request:
        return Request(b"get %s\r\n" % key, b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value))

    @staticmethod
    def build_set(key: bytes, value: bytes) -> Request:
        return Request(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"STORED\r\n")


class Redis:
    @staticmethod
    def build_get(key: bytes, value: bytes) -> Request:
        return Request(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key), b"$%d\r\n%s\r\n" % (len(value), value))

    @staticmethod
    def build_set(key: bytes, value: bytes) -> Request:
        return Request(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value), b"+OK\r\n")


PROTOCOLS = {"memcached": Memcached, "redis": Redis}


class Connection:
    """Sends requests to a server and reads its answers, which come in the order of their requests and are all known."""

    def __init__(self, port: int) -> None:
        """Connects to a server on this computer. OSError: it does not answer within CONNECT_LIMIT seconds."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_LIMIT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.to_send, self.received = bytearray(), bytearray()
        self.unanswered: deque[tuple[float, bytes]] = deque()  # when a latency begins, in s, and the answer that is to come

    def queue_request(self, due: float, request: Request) -> None:
        """Sends a request, or as much of it as the socket takes; due: when its latency begins, in seconds."""
        self.unanswered.append((due, request.answer))
        self.to_send += request.text
        self.send_queued()

    def send_queued(self) -> None:
        """Sends as much of what is queued as the socket takes now."""
        try:
            del self.to_send[:self.socket.send(self.to_send)]
        except BlockingIOError:
            pass

    def take_answers(self, now: float, latencies: list[float]) -> None:
        """Appends the latency, in s, of each answer that has come by `now`. SystemExit: one is not right, so that what follows it could
        not be told apart."""
        self.received += self.read_data()
        while self.unanswered:
            due, answer = self.unanswered[0]
            if not answer.startswith(bytes(self.received[:len(answer)])):
                raise SystemExit(f"open_loop: wrong answer {bytes(self.received[:SHOWN])!r}, not {answer[:SHOWN]!r}")
            if len(self.received) < len(answer):
                return
            self.unanswered.popleft()
            del self.received[:len(answer)]
            latencies.append(now - due)

    def read_data(self) -> bytes:
        """Reads what has come; SystemExit where the server has closed the connection."""
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return b""
        if not data:
            raise SystemExit("open_loop: the server has closed a connection")
        return data


class Client:
    def __init__(self, args: argparse.Namespace) -> None:
        """Connects to the server; keys of `value_bytes` each fill `memory_mib`. args: the options of main()."""
        self.args, self.random, self.protocol = args, random.Random(args.seed), PROTOCOLS[args.protocol]
        self.keys = max(1, (args.memory_mib << 20) // args.value_bytes)
        self.connections = [Connection(args.port) for _ in range(args.connections)]
        self.latencies: list[float] = []
        self.selector = selectors.SelectSelector()  # others round a wait up to a whole millisecond
        for connection in self.connections:
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)

    def build_request(self, kind: str, key: int) -> Request:
        name = b"key:%012d" % key
        value = name * (self.args.value_bytes // len(name) + 1)
        return getattr(self.protocol, f"build_{kind}")(name, value[:self.args.value_bytes])

    def load_keys(self) -> dict[str, float]:
        """Sets all keys, BATCH at a time. Returns how many, and the seconds that it took."""
        begin = time.monotonic()
        for first in range(0, self.keys, BATCH):
            for key in range(first, min(first + BATCH, self.keys)):
                self.connections[key % len(self.connections)].queue_request(begin, self.build_request("set", key))
            self.wait_for_answers(begin + math.inf)
        return {"keys": self.keys, "seconds": time.monotonic() - begin}

    def wait_for_answers(self, deadline: float) -> None:
        """Waits until all requests are answered; SystemExit after the deadline."""
        while any(connection.unanswered for connection in self.connections):
            if time.monotonic() > deadline:
                raise SystemExit(f"open_loop: not all answered {LATE_LIMIT} s after the last request: give a lower --rate")
            self.serve_connections(TURN)

    def serve_connections(self, seconds: float) -> None:
        """Waits that long at most, takes what has come, and sends what could not be sent before."""
        for ready, _events in self.selector.select(seconds):
            ready.data.take_answers(time.monotonic(), self.latencies)  # the connection that was registered
        for connection in self.connections:
            if connection.to_send:
                connection.send_queued()

    def run_schedule(self) -> dict[str, float]:
        """Sends requests by the schedule, whose gaps are exponential, as those of many users are. Returns the summary of their latencies.
        SystemExit: there are none, or they are not answered in time."""
        begin, due = time.monotonic() + LEAD, 0.0
        requests = 0
        while (due := due + self.random.expovariate(self.args.rate)) < self.args.warm_up + self.args.seconds:
            kind = "set" if self.random.random() < self.args.sets else "get"
            request = self.build_request(kind, self.random.randrange(self.keys))
            while (seconds_left := begin + due - time.monotonic()) > 0:
                self.serve_connections(seconds_left)
            self.connections[requests % len(self.connections)].queue_request(begin + due, request)
            requests += 1
            self.serve_connections(0)
        self.wait_for_answers(begin + due + LATE_LIMIT)
        if not requests:
            raise SystemExit("open_loop: no request was due within --seconds: give a higher --rate or more --seconds")
        return self.summarise_latencies(requests)

    def summarise_latencies(self, requests: int) -> dict[str, float]:
        """Computes mean and quantiles, in us, of the latencies after the warm-up: of as many of the last answers as its
        share of the time leaves."""
        share = self.args.seconds / (self.args.warm_up + self.args.seconds)
        counted = sorted(self.latencies[-max(1, round(share * len(self.latencies))):])
        return {"requests": requests, "answered": len(self.latencies), "mean_us": 1e6 * sum(counted) / len(counted)} | {
            f"{name}_us": 1e6 * counted[min(len(counted) - 1, math.ceil(quantile * len(counted)) - 1)]
            for name, quantile in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0))}


def main() -> None:
    """Loads the server or runs the schedule, and prints the result as JSON."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["load", "run"])
    options.add_argument("--protocol", choices=PROTOCOLS, required=True)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--memory-mib", type=int, required=True, help="of all values")
    options.add_argument("--value-bytes", type=int, default=1024)
    options.add_argument("--connections", type=int, default=8)
    options.add_argument("--rate", type=float, default=500, help="requests a second")
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--warm-up", type=float, default=0.5, help="seconds before, whose latencies are left out")
    options.add_argument("--sets", type=float, default=0.1, help="part of the requests that set a key")
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()
    client = Client(args)
    print(json.dumps(client.load_keys() if args.what == "load" else client.run_schedule()))


if __name__ == "__main__":
    main()
