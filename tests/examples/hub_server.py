# SPDX-License-Identifier: Apache-2.0
"""A hub on this machine: the part of Hugging Face's API that downloads use, and a second server to redirect to."""

import hashlib
import http.server
import json
import threading
import time
import urllib.parse


def etag_of(content, large):
    """SHA-256 of what LFS has, else the id that git gives a blob."""
    if large:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Repository:
    """Files at one commit. `large` are those that the second server has."""

    def __init__(self, files, commit="c" * 40):
        self.files, self.commit = files, commit
        self.large = {name for name in files if name.endswith((".safetensors", ".gguf"))}

    def etag(self, name):
        return etag_of(self.files[name], name in self.large)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        hub = self.server.hub
        url = urllib.parse.urlsplit(self.path)  # of a proxy's client it has a host
        path = urllib.parse.unquote(url.path)
        with hub.lock:
            hub.requests.append((self.server.name, self.command, path, dict(self.headers), url.netloc))
            trouble = next((t for t in hub.troubles if t["in"] in path and t.get("method", self.command) == self.command
                            and t.get("server", self.server.name) == self.server.name), None)
            if trouble is not None and trouble.get("once", True):
                hub.troubles.remove(trouble)
        if trouble is not None and "status" in trouble:
            return self.send(trouble["status"], trouble.get("headers", {}), trouble.get("body", b"a page for people"), with_body)
        if self.server.name == "hub":
            self.answer_as_hub(hub, path, with_body, trouble)
        else:
            repository, name = hub.find(path.removeprefix("/cdn/"))
            self.send_file(repository.files[name], {"ETag": '"of-the-other-server"'}, with_body, trouble)

    def answer_as_hub(self, hub, path, with_body, trouble):
        if hub.token and self.headers.get("Authorization") != "Bearer " + hub.token:
            return self.send(401, {"X-Error-Message": "Invalid username or password."}, b"", with_body)
        if path.startswith("/api/models/"):
            repository = hub.repositories.get(path.removeprefix("/api/models/").removesuffix("/revision/main"))
            if repository is None or not path.endswith("/revision/main"):
                return self.send(404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b"", with_body)
            facts = {"sha": repository.commit, "siblings": [{"rfilename": name} for name in sorted(repository.files)]}
            return self.send(200, {"Content-Type": "application/json"}, json.dumps(facts | hub.more_facts).encode(), with_body)
        repository, name = hub.find(path.replace("/resolve/" + "c" * 40, "", 1)[1:])
        if repository is None:
            return self.send(404, {"X-Error-Code": "EntryNotFound"}, b"", with_body)
        headers = {"X-Repo-Commit": repository.commit}
        if name in repository.large:
            location = hub.location or f"{hub.other.url}/cdn/" + urllib.parse.quote(path.split("/resolve/")[0][1:] + "/" + name)
            linked = {"X-Linked-Etag": f'"{repository.etag(name)}"', "X-Linked-Size": str(len(repository.files[name]))}
            return self.send(302, headers | linked | {"Location": location}, b"elsewhere", with_body)
        self.send_file(repository.files[name], headers | {"ETag": f'"{repository.etag(name)}"'}, with_body, trouble)

    def send_file(self, content, headers, with_body, trouble):
        status, begin = 200, 0
        wanted = self.headers.get("Range", "")
        if_range = self.headers.get("If-Range")
        if wanted and if_range in (None, headers["ETag"]) and not (trouble or {}).get("whole"):
            begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(content):
                return self.send(416, {}, b"", with_body)
            status, headers = 206, headers | {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
        body = content[begin:]
        if trouble is None:
            return self.send(status, headers, body, with_body)
        if "replace" in trouble:
            return self.send(status, headers, trouble["replace"](body), with_body)
        self.send(status, headers, body, with_body, trouble)

    def send(self, status, headers, body, with_body, trouble={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not with_body:
            return
        slow, held = trouble.get("slow"), trouble.get("held", 0)
        try:
            if held:
                self.wfile.write(body[:held])
                trouble["until"].wait(300)
            if slow:
                for at in range(held, len(body), 4096):
                    self.wfile.write(body[at:at + 4096])
                    time.sleep(slow)
            else:
                self.wfile.write(body[held:trouble.get("cut_after")])
        except OSError:
            self.close_connection = True
        if "cut_after" in trouble:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub, name, host):
        super().__init__(("127.0.0.1", 0), Handler)
        self.hub, self.name = hub, name
        self.url = f"http://{host}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_):
        pass  # clients that go away are a part of the tests


class Hub:
    """`troubles` are dictionaries: which requests ("in" a path, "method", "server"), and what happens to them: "status",
    "cut_after" bytes, "slow" seconds for 4 KB, "held" bytes before an event "until" which nothing follows, "whole" for a
    server without ranges, "replace" for other bytes. Each happens once, unless "once" is False."""

    def __init__(self):
        self.lock = threading.Lock()
        self.repositories, self.requests, self.troubles = {}, [], []
        self.token, self.location, self.more_facts = None, None, {}
        self.hub, self.other = Server(self, "hub", "127.0.0.1"), Server(self, "other", "localhost")
        self.url = self.hub.url

    def find(self, path):
        for name, repository in self.repositories.items():
            if path.startswith(name + "/") and path[len(name) + 1:] in repository.files:
                return repository, path[len(name) + 1:]
        return None, None

    def asked_for(self, part, method="GET"):
        """The requests for paths with this part: (server, headers)."""
        return [(server, headers) for server, asked, path, headers, _ in self.requests if part in path and asked == method]

    def close(self):
        for server in (self.hub, self.other):
            server.shutdown()
            server.server_close()
