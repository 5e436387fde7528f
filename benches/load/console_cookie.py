"""Signs a person in to the console as a browser does (console_cookie.py URL PASSWORD for the owner) and prints the cookie."""

import sys

from visitor import Visitor, local


def cookie_of(url, email, password):
    visitor = Visitor(url)
    answer, _ = visitor.call("GET", "/console/sign-in")
    visitor.call("GET", local(answer.headers["Location"]))
    visitor.call("GET", local(visitor.sign_in(email, password)))
    return "bailiwick-console=" + visitor.cookies["bailiwick-console"]


if __name__ == "__main__":
    print(cookie_of(sys.argv[1], "owner@bailiwick.example", sys.argv[2]))
