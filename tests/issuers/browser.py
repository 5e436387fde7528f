"""What a browser does of itself: it keeps cookies, shows pages with forms, sends them, and follows addresses step by step."""

import http.client
import ssl
import urllib.parse
from html.parser import HTMLParser

# How long an answer may take, in seconds.
PATIENCE = 60


class Answer:
    """An answer that was read whole."""

    def __init__(self, address, status, headers, body):
        self.address, self.status, self.headers, self.body = address, status, headers, body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def location(self):
        """Where the answer leads, as a whole address."""
        to = self.headers.get("location")
        return to and urllib.parse.urljoin(self.address, to)

    def __str__(self):
        return f"{self.status} from {self.address.split('?')[0]}: {self.text[:300]!r}"


class Form:
    """A form of a page: where it goes, and the fields that it has already."""

    def __init__(self, action):
        self.action, self.fields = action, {}


class _Forms(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
        self._open = None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self._open = Form(attributes.get("action", ""))
            self.found.append(self._open)
        elif self._open and tag in ("input", "button") and attributes.get("name"):
            if attributes.get("type") not in ("checkbox", "radio"):
                self._open.fields[attributes["name"]] = attributes.get("value") or ""

    def handle_endtag(self, tag):
        if tag == "form":
            self._open = None


def forms(answer):
    """The forms of a page, their targets as whole addresses."""
    parser = _Forms()
    parser.feed(answer.text)
    for form in parser.found:
        form.action = urllib.parse.urljoin(answer.address, form.action)
    return parser.found


class Browser:
    """Cookies by origin. Nothing is followed by itself: a check sees every step."""

    def __init__(self, authority):
        self._context = ssl.create_default_context(cafile=authority)
        self._cookies = {}

    def cookies(self, address):
        return self._cookies.setdefault(urllib.parse.urlsplit(address)[:2], {})

    def ask(self, method, address, fields=None, headers=None, body=None):
        """One request. `fields` are sent as a form would send them."""
        parts = urllib.parse.urlsplit(address)
        headers = dict(headers or {})
        if fields is not None:
            body = urllib.parse.urlencode(fields)
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        kept = self.cookies(address)
        if kept:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in kept.items())
        connection = self._connect(parts)
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request(method, target, body=body, headers=headers)
            answer = connection.getresponse()
            read = Answer(address, answer.status, answer.headers, answer.read())
        finally:
            connection.close()
        for line in read.headers.get_all("set-cookie") or []:
            self._keep(kept, line)
        return read

    def _connect(self, parts):
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=PATIENCE, context=self._context)
        return http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)

    @staticmethod
    def _keep(kept, line):
        pair, *rest = line.split(";")
        name, _, value = pair.strip().partition("=")
        attributes = {word.strip().lower() for word in rest}
        if "max-age=0" in attributes or value == "":
            kept.pop(name, None)
        else:
            kept[name] = value

    def open(self, address, headers=None):
        return self.ask("GET", address, headers=headers)

    def follow(self, answer, until):
        """Goes where answers lead, up to an address that begins with one of `until`, which is not opened."""
        for _ in range(20):
            to = answer.location
            if answer.status not in (302, 303) or not to:
                return answer, None
            if to.startswith(until):
                return answer, to
            answer = self.open(to)
        raise AssertionError(f"no end of redirects: {answer}")
