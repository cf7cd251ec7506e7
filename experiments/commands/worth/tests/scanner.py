# SPDX-License-Identifier: GPL-2.0-only
"""Looks through its memory again and again, and says on a page of loopback how often it has: scanner.py PORT."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

SIZE = 24 << 20
memory, scans = bytearray(SIZE), 0


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"scans {scans}\n".encode())

    def log_message(self, *_):
        pass


threading.Thread(target=HTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever, daemon=True).start()
print("ready", flush=True)
while memory.find(1) < 0:
    scans += 1
