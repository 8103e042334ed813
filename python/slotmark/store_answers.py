"""The answers of object stores that are errors, in our words."""

import re

from slotmark.places import Url

CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
"""The code of an answer."""

_STATUS = re.compile(r"status code: ((\d{3}) [A-Za-z ]{1,40})")

_CREDENTIALS = "the store refuses these credentials"

_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN where they are temporary",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""Variables that credentials of a store come from, by scheme."""

_IDENTITY = re.compile(r"performing [A-Z]+ http://[^ ]+/(latest/|computeMetadata|metadata/identity)")
"""A request for this machine's own identity, which clouds give their machines. The library makes it where the environment has no credentials."""

_REGION = "the bucket is in another region than AWS_REGION names. Set that to the bucket's; where it isn't set, it is us-east-1."

_TOLD = {
    "NoSuchBucket": "there is no such bucket. Make it, or correct the URL.",
    "RequestTimeTooSkewed": "this machine's clock is off by the store's. Set it right.",
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "ExpiredToken": f"{_CREDENTIALS}: they are temporary, and have expired. Get new ones into the environment.",
}
"""By the code of an answer, what it means and what to do."""

_TOKENS = ("InvalidToken", "TokenRefreshRequired")
"""Codes of answers that refuse credentials, and have another status than 401 and 403."""

_ASKED_AGAIN = ("408", "409", "429")
"""Status of answers below 500 after which the same request may succeed."""


def answer_in_words(url: Url, error: Exception) -> str:
    """Returns what an error of the library about this store means, and what to do. No text of the store's but a code.

    Args:
        url: The store.
        error: What the library raised, or the operating system.
    """
    import obstore.exceptions as failures  # noqa: PLC0415

    text = str(error)
    code, status = CODE.search(text), _STATUS.search(text)
    named = code[1] if code else status[1].strip() if status else ""
    answered = f" ({named})" if named else ""
    denied = isinstance(error, failures.PermissionDeniedError | failures.UnauthenticatedError)
    if named in _TOLD:
        told = _TOLD[named]
    elif "redirect without LOCATION" in text:
        told = _REGION
    elif _IDENTITY.search(text):
        told = f"the environment has no credentials, and this machine no identity of its own. Set {_VARIABLES[url.scheme]} (docs/scale.md)."
    elif isinstance(error, FileNotFoundError):
        told = f"there is no such object{answered}. Copy the run again from where it was made."
    elif denied or named in _TOKENS or (status and status[2] in ("401", "403")):
        named_in = _VARIABLES.get(url.scheme)
        told = (
            f"{_CREDENTIALS}{answered}. They come from the environment, as {named_in} (docs/scale.md)."
            if named_in
            else f"the server refuses to give it{answered}, and slotmark has no credentials for web servers. Copy it here first."
        )
    elif isinstance(error, failures.NotSupportedError):
        told = f"it is on a server that doesn't answer requests for ranges{answered}, by which it is read. Copy it here first, or serve it by one that does."
    elif "builder error" in text and url.listed:
        told = "its endpoint is no https URL. Correct it, or set AWS_ALLOW_HTTP=true where http without encryption is meant."
    elif status and status[2] < "500" and status[2] not in _ASKED_AGAIN:
        told = f"the store refuses this request{answered}. Correct the URL, or the store's address and credentials in the environment (docs/scale.md)."
    elif answered:
        told = f"the store failed{answered}, also when asked again. Try again later."
    else:
        told = "the store can't be reached, or its answer was cut, also when asked again. Try again later."
    return told
