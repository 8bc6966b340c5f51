"""A transport between a client and an app in this process."""

import httpx


class Wire(httpx.BaseTransport):
    """A way to the app on which answers get lost, and on which others answer."""

    def __init__(self, client):
        self.client, self.troubles, self.sent = client, [], []

    def handle_request(self, request):
        self.sent.append(request)
        trouble = self.troubles.pop(0) if self.troubles else None
        if isinstance(trouble, httpx.Response):
            return trouble
        if trouble == "unsent":
            raise httpx.ConnectError("refused")
        answer = self.client.request(
            request.method, str(request.url), content=request.read(), headers=list(request.headers.items())
        )
        if trouble == "lost":
            raise httpx.ReadError("reset")
        headers = [(name, value) for name, value in answer.headers.items() if name != "content-length"]
        return httpx.Response(answer.status_code, content=answer.content, headers=headers)
