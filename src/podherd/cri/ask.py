"""`python -m podherd.cri.ask version|empty ENDPOINT`: a few CRI calls from a process of their own.

`version` prints the runtime and its version, or says on stderr why it is refused or does not answer (exit code 1).
`empty` stops and removes every pod sandbox.
"""

import asyncio
import sys

from cri_api.v1 import api_pb2 as pb

from podherd.cri.client import Cri
from podherd.cri.ready import accept_answer
from podherd.errors import PodherdError

ANSWER_S = 5.0


async def version(endpoint: str) -> str:
    """The runtime's name and version. Raises RuntimeRefusedError, or CriError when it does not answer."""
    cri = Cri(endpoint, request_s=ANSWER_S)
    try:
        answer = await accept_answer(cri.version, endpoint)
    finally:
        await cri.close()
    return f"{answer.runtime_name} {answer.runtime_version}"


async def empty(endpoint: str) -> str:
    """Stop and remove every sandbox, all at once."""
    cri = Cri(endpoint)
    try:
        listed = pb.ListPodSandboxResponse.FromString(await cri.list_sandboxes_raw())
        await asyncio.gather(*(_remove(cri, sandbox.id) for sandbox in listed.items))
    finally:
        await cri.close()
    return f"{len(listed.items)} removed"


async def _remove(cri: Cri, sandbox_id: str) -> None:
    await cri.stop_sandbox(sandbox_id)
    await cri.remove_sandbox(sandbox_id)


def main(args: list[str]) -> int:
    """Exit code 0 done, 1 failed, 2 usage."""
    deeds = {"version": version, "empty": empty}
    if len(args) != 2 or args[0] not in deeds:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    try:
        sys.stdout.write(asyncio.run(deeds[args[0]](args[1])) + "\n")
    except PodherdError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
