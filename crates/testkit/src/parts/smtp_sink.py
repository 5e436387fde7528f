"""A mail server that delivers nothing: what it takes is decoded and appended to a file, one JSON line each.

Arguments: port, directory, and with TLS the certificate and its key. In the directory:
  messages    what was taken
  answer      when there: what to say to every message, such as `451 later` or `550 no such user`
  account     when there: `user:password`, without which nothing is taken
"""

import asyncio
import email
import email.policy
import json
import pathlib
import signal
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

PORT, DIRECTORY = int(sys.argv[1]), pathlib.Path(sys.argv[2])


def text_of(name):
    try:
        return (DIRECTORY / name).read_text().strip()
    except FileNotFoundError:
        return None


class Sink:
    async def handle_RCPT(self, server, session, envelope, address, options):
        answer = text_of("answer")
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
        with open(DIRECTORY / "messages", "a") as file:
            file.write(json.dumps(line) + "\n")
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    if not isinstance(data, LoginPassword):
        return AuthResult(success=False, handled=False)
    given = data.login + b":" + data.password
    good = given.decode() == text_of("account")
    # What is not handled here is refused by the server, with 535.
    return AuthResult(success=good, handled=good, auth_data=data.login)


def protocol():
    context = None
    if len(sys.argv) > 3:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
    return SMTP(
        Sink(),
        hostname="sink.example",
        authenticator=authenticate,
        auth_required=text_of("account") is not None,
        auth_require_tls=False,
        tls_context=context,
        require_starttls=context is not None,
    )


async def main():
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = await loop.create_server(protocol, "127.0.0.1", PORT)
    (DIRECTORY / "ready").touch()
    await stop.wait()
    server.close()


asyncio.run(main())
