"""The service as a user interface, a browser and an operator use it."""

import json
import os
import subprocess

from browser import Browser


class Service:
    def __init__(self, base, program):
        self.base, self._program = base, program

    def send(self, method, path, body=None, token=None):
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        text = None if body is None else json.dumps(body)
        return Browser(None).ask(method, f"{self.base}/api{path}", headers=headers, body=text)

    def exchange(self, access_token):
        """The answer to a token of the issuer."""
        return self.send("POST", "/auth/exchange", {"access_token": access_token})

    def refresh(self, refresh_token):
        return self.send("POST", "/auth/refresh", {"refresh_token": refresh_token})

    def me(self, token):
        return self.send("GET", "/me", token=token)

    def command(self, *arguments):
        """Runs a command of the program, with the settings of the service; what it prints."""
        done = subprocess.run([self._program, *arguments], env=os.environ, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr


def data(answer):
    """What an answer carries."""
    return json.loads(answer.text)["data"]
