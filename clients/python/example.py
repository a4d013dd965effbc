"""From nothing to a settled payment and its verified webhook.

``MANILLA_URL=… MANILLA_KEY=… python example.py``, with the address and key that ``npm start`` prints.
"""

import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from manilla import Event, Manilla, ManillaError, WebhookVerificationError, verify_webhook

client = Manilla(os.environ["MANILLA_KEY"], os.environ.get("MANILLA_URL", "http://127.0.0.1:8080/v1"))

# The receiver of webhooks. The secret is known once the endpoint is registered.
secret = ""
events: queue.Queue[Event] = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        raw_body = self.rfile.read(int(self.headers["content-length"]))
        try:
            events.put(verify_webhook(secret, raw_body, dict(self.headers)))
            self.send_response(200)
        except WebhookVerificationError:
            self.send_response(400)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
endpoint = client.create_webhook_endpoint(
    {"url": f"http://127.0.0.1:{server.server_port}/", "eventTypes": ["payment.completed"]}
)
secret = endpoint["secret"]

# A customer with a wallet, and a payment into it.
wallet = client.create_wallet({"email": "ada@example.com", "fullName": "Ada Obi"})
client.submit_kyc(
    wallet["id"],
    {
        "bvn": "12345678901",
        "dateOfBirth": "1990-05-17",
        "gender": "female",
        "phone": "+2348012345678",
        "addressLine1": "1 Marina",
        "city": "Lagos",
        "state": "Lagos",
    },
)
payment = client.create_payment(
    {"method": "bank_transfer", "baseAmount": 200_000, "targetWalletId": wallet["id"], "description": "Order 1"}
)

# In the sandbox, the payer is a request.
account = payment["virtualAccount"]
assert account is not None
client.simulate_inbound_credit({"accountNumber": account["accountNumber"], "amount": payment["payableAmount"]})
event = events.get(timeout=60)
if event["type"] == "payment.completed":
    print("webhook:", event["data"]["status"])
print("balance:", client.get_wallet_balance(wallet["id"])["balance"])

# Every entry of the statement, over all pages.
for line in client.list_wallet_transactions(wallet["id"], limit=1):
    print("statement:", line["direction"], line["amount"], line["kind"])

# Errors are exceptions with a code.
try:
    client.create_transfer(wallet["id"], {"destinationWalletId": wallet["id"], "amount": 9_000_000})
except ManillaError as error:
    print("refused:", error.code, error.help_url)

client.delete_webhook_endpoint(endpoint["id"])
server.shutdown()
