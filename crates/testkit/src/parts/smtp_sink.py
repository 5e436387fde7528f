"""Mail servers that deliver nothing: what they take is decoded and appended to a file, one JSON line each.

One program runs the servers of a whole test process, because starting Python takes longer than most tests. The argument is
the port of its control connection, which takes one command in each line and answers `ok` or what went wrong:
  open PORT DIRECTORY [CERTIFICATE KEY]    starts a server, with TLS if there is a certificate
  close PORT                               ends it and its connections
In the directory of a server:
  messages    what was taken
  answer      when there: what to say to every message, such as `451 later` or `550 no such user`
  account     when there: `user:password`, without which nothing is taken
"""

import asyncio
import email
import email.policy
import json
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class Sink:
    def __init__(self, directory, certificate=None, key=None):
        self.directory = pathlib.Path(directory)
        self.connections = []
        self.context = None
        if certificate:
            self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.context.load_cert_chain(certificate, key)

    def text_of(self, name):
        try:
            return (self.directory / name).read_text().strip()
        except FileNotFoundError:
            return None

    async def handle_RCPT(self, server, session, envelope, address, options):
        answer = self.text_of("answer")
        if answer:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        part = lambda kind: next((p.get_content() for p in message.walk() if p.get_content_type() == kind), None)
        line = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "headers": {name.lower(): str(value) for name, value in message.items()},
            "kinds": [p.get_content_type() for p in message.walk()],
            "text": part("text/plain"),
            "html": part("text/html"),
            "encrypted": session.ssl is not None,
            "user": session.auth_data.decode() if session.authenticated else None,
        }
        with open(self.directory / "messages", "a") as file:
            file.write(json.dumps(line) + "\n")
        return "250 OK"

    def authenticate(self, server, session, envelope, mechanism, data):
        if not isinstance(data, LoginPassword):
            return AuthResult(success=False, handled=False)
        given = data.login + b":" + data.password
        good = given.decode() == self.text_of("account")
        # What is not handled here is refused by the server, with 535.
        return AuthResult(success=good, handled=good, auth_data=data.login)

    def protocol(self):
        connection = SMTP(
            self,
            hostname="sink.example",
            authenticator=self.authenticate,
            auth_required=self.text_of("account") is not None,
            auth_require_tls=False,
            tls_context=self.context,
            require_starttls=self.context is not None,
        )
        self.connections.append(connection)
        return connection

    async def open(self, port):
        self.server = await asyncio.get_running_loop().create_server(self.protocol, "127.0.0.1", port)

    def close(self):
        self.server.close()
        for connection in self.connections:
            if connection.transport is not None:
                connection.transport.abort()


SINKS = {}


async def run(word, port, *rest):
    if word == "open":
        sink = Sink(*rest)
        await sink.open(int(port))
        SINKS[port] = sink
    else:
        SINKS.pop(port).close()


async def control(reader, writer):
    while line := await reader.readline():
        try:
            await run(*line.decode().split())
            answer = "ok"
        except Exception as error:
            answer = repr(error)
        writer.write(answer.encode() + b"\n")
    writer.close()


async def main():
    server = await asyncio.start_server(control, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
