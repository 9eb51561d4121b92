"""What the tests of history servers share: a log, a secret, what is read."""

from http.server import BaseHTTPRequestHandler

import sparklog as log

TEXT = log.text(log.one_stage())
SECRET = "s3cr3t-t0ken"
Handler = BaseHTTPRequestHandler
