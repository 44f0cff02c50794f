"""The client of a container runtime: CRI v1 over a unix socket, every call with its own deadline.

Replies are the generated messages of `cri_api.v1.api_pb2`; the two list calls come undecoded, for
`podherd.native.relist`. Every method raises CriError alone, with the gRPC code's name (`NOT_FOUND`,
`DEADLINE_EXCEEDED`, `UNAVAILABLE` while the runtime is away, `UNIMPLEMENTED`...).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from cri_api.v1 import api_pb2 as pb

from podherd.cri.channel import open_channel
from podherd.cri.ready import until_ready
from podherd.cri.streams.remote import Wants
from podherd.cri.table import ImageCalls, RuntimeCalls
from podherd.errors import CriError
from podherd.model import keys

SANDBOX_S = 240.0
"""Time for RunPodSandbox: a slow CNI plugin is not a broken runtime (the kubelet gives it twice the request time)."""
EXEC_SLACK_S = 0.5
"""A runtime that keeps exec's time limit itself kills the process and answers within this; then our deadline strikes,
whatever the runtime does (case PROBE-1)."""
VERSION_S = 5.0
"""Time for one Version call of wait_ready; a runtime that hangs is asked again."""


class Cri:
    """RuntimeService at `endpoint`, ImageService at `image_endpoint` (empty: the same socket).

    request_s: deadline of every call that has none of its own. Make it inside the running loop that uses it;
    it connects at the first call, and again by itself whenever the runtime comes back.
    """

    def __init__(self, endpoint: str, image_endpoint: str = "", request_s: float = 120.0) -> None:
        self.endpoint = endpoint
        self._request_s = request_s
        runtime = open_channel(endpoint)
        image = open_channel(image_endpoint) if image_endpoint not in ("", endpoint) else runtime
        self._channels = {runtime, image}
        self._runtime = RuntimeCalls(runtime)
        self._image = ImageCalls(image)

    async def close(self) -> None:
        """End the channels; calls in flight fail with CANCELLED."""
        for channel in self._channels:
            await channel.close()

    # The runtime itself

    async def version(self, timeout_s: float | None = None) -> pb.VersionResponse:
        """Name and version of the runtime and of the API that it speaks."""
        return await self._runtime.version(pb.VersionRequest(version="v1"), timeout_s or self._request_s)

    async def wait_ready(self, on_wait: Callable[[CriError], None] | None = None) -> pb.VersionResponse:
        """The runtime's version, waiting for it as long as it takes. `on_wait` hears each new reason to wait.

        Raises RuntimeRefusedError for a runtime that answers but does not speak CRI v1: waiting would not help.
        """
        return await until_ready(lambda: self.version(VERSION_S), self.endpoint, on_wait)

    async def status(self, verbose: bool = False) -> pb.StatusResponse:
        """Conditions `RuntimeReady` and `NetworkReady`; `verbose` adds the runtime's own info."""
        return await self._runtime.status(pb.StatusRequest(verbose=verbose), self._request_s)

    async def cgroup_driver(self, fallback: str) -> str:
        """`cgroupfs` or `systemd` as the runtime says (section 14.1); `fallback` from one too old to be asked."""
        try:
            reply = await self._runtime.config(pb.RuntimeConfigRequest(), self._request_s)
        except CriError as error:
            if error.code == "UNIMPLEMENTED":
                return fallback
            raise
        return "systemd" if reply.linux.cgroup_driver == pb.SYSTEMD else "cgroupfs"

    # Sandboxes

    async def run_sandbox(self, config: pb.PodSandboxConfig, handler: str = "", timeout_s: float = SANDBOX_S) -> str:
        """Create and start a pod sandbox; its id."""
        request = pb.RunPodSandboxRequest(config=config, runtime_handler=handler)
        return (await self._runtime.run_sandbox(request, timeout_s)).pod_sandbox_id

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox and whatever still runs in it. Idempotent; also for an id that is gone."""
        await self._runtime.stop_sandbox(pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id), self._request_s)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Remove a sandbox and its containers, killing what runs. Idempotent."""
        await self._runtime.remove_sandbox(pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id), self._request_s)

    async def sandbox_status(self, sandbox_id: str, timeout_s: float | None = None) -> pb.PodSandboxStatusResponse:
        """One sandbox; NOT_FOUND when the runtime has none of this id."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        return await self._runtime.sandbox_status(request, timeout_s or self._request_s)

    async def list_sandboxes_raw(self, timeout_s: float | None = None) -> bytes:
        """Every sandbox: the undecoded ListPodSandboxResponse."""
        return await self._runtime.list_sandboxes(pb.ListPodSandboxRequest(), timeout_s or self._request_s)

    # Containers

    async def create_container(
        self, sandbox_id: str, config: pb.ContainerConfig, sandbox_config: pb.PodSandboxConfig
    ) -> str:
        """Create a container in a sandbox; its id."""
        request = pb.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox_config)
        return (await self._runtime.create(request, self._request_s)).container_id

    async def start_container(self, container_id: str) -> None:
        """Start a created container."""
        await self._runtime.start(pb.StartContainerRequest(container_id=container_id), self._request_s)

    async def stop_container(self, container_id: str, grace_s: int) -> None:
        """SIGTERM, SIGKILL after `grace_s`; returns when it is dead. Idempotent. Deadline: grace plus request time."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=grace_s)
        await self._runtime.stop(request, self._request_s + grace_s)

    async def remove_container(self, container_id: str) -> None:
        """Remove a container, killing it if it runs. Idempotent."""
        await self._runtime.remove(pb.RemoveContainerRequest(container_id=container_id), self._request_s)

    async def update_resources(self, container_id: str, resources: pb.LinuxContainerResources) -> None:
        """Give a running container other resources; a field left 0 keeps its value."""
        request = pb.UpdateContainerResourcesRequest(container_id=container_id, linux=resources)
        await self._runtime.update_resources(request, self._request_s)

    async def container_status(self, container_id: str, timeout_s: float | None = None) -> pb.ContainerStatus:
        """One container; NOT_FOUND when the runtime has none of this id."""
        request = pb.ContainerStatusRequest(container_id=container_id)
        return (await self._runtime.container_status(request, timeout_s or self._request_s)).status

    async def list_containers_raw(self, timeout_s: float | None = None) -> bytes:
        """Every container: the undecoded ListContainersResponse."""
        return await self._runtime.list_containers(pb.ListContainersRequest(), timeout_s or self._request_s)

    async def list_pod(
        self, pod_uid: str, timeout_s: float | None = None
    ) -> tuple[list[pb.PodSandbox], list[pb.Container]]:
        """Sandboxes and containers of one pod, by the label `io.kubernetes.pod.uid`; both are asked for at once."""
        limit_s, label = timeout_s or self._request_s, {keys.POD_UID: pod_uid}
        boxes = pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(label_selector=label))
        held = pb.ListContainersRequest(filter=pb.ContainerFilter(label_selector=label))
        of_boxes, of_held = await asyncio.gather(
            self._runtime.list_sandboxes(boxes, limit_s), self._runtime.list_containers(held, limit_s)
        )
        found = pb.ListPodSandboxResponse.FromString(of_boxes)
        return list(found.items), list(pb.ListContainersResponse.FromString(of_held).containers)

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: int = 0) -> pb.ExecSyncResponse:
        """Run a command in a container to its end: exit code, stdout, stderr (bytes).

        timeout_s: for the command; our own deadline follows shortly. 0: as long as it takes.
        """
        request = pb.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout_s)
        return await self._runtime.exec_sync(request, timeout_s + EXEC_SLACK_S if timeout_s else None)

    async def exec_url(self, container_id: str, command: Sequence[str], wants: Wants) -> str:
        """Where to run a command with streams: for `streams.remote.open_remote`, once, within a minute."""
        request = pb.ExecRequest(
            container_id=container_id, cmd=command,
            tty=wants.tty, stdin=wants.stdin, stdout=wants.stdout, stderr=wants.stderr,
        )  # fmt: skip
        return (await self._runtime.exec(request, self._request_s)).url

    async def attach_url(self, container_id: str, wants: Wants) -> str:
        """Where to join the streams of a container's own process; `wants.tty` must be what the container has."""
        request = pb.AttachRequest(
            container_id=container_id,
            tty=wants.tty, stdin=wants.stdin, stdout=wants.stdout, stderr=wants.stderr,
        )  # fmt: skip
        return (await self._runtime.attach(request, self._request_s)).url

    async def containers_named(self, pod_uid: str, name: str, timeout_s: float | None = None) -> list[pb.Container]:
        """Every attempt of a pod's container that the runtime holds, the newest first."""
        label = {keys.POD_UID: pod_uid, keys.CONTAINER_NAME: name}
        request = pb.ListContainersRequest(filter=pb.ContainerFilter(label_selector=label))
        reply = await self._runtime.list_containers(request, timeout_s or self._request_s)
        found = pb.ListContainersResponse.FromString(reply).containers
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    async def container_stats(self, timeout_s: float | None = None, container_id: str = "") -> list[pb.ContainerStats]:
        """CPU, memory and file system use of every running container, or of one, as the runtime measures it."""
        request = pb.ListContainerStatsRequest(filter=pb.ContainerStatsFilter(id=container_id))
        return list((await self._runtime.list_stats(request, timeout_s or self._request_s)).stats)

    async def reopen_log(self, container_id: str) -> None:
        """Make the runtime open the container's log file anew, after its rotation."""
        await self._runtime.reopen_log(pb.ReopenContainerLogRequest(container_id=container_id), self._request_s)

    def events(self) -> AsyncGenerator[pb.ContainerEventResponse, None]:
        """Container events as they happen, until the stream breaks (CriError) or the runtime ends it.

        UNIMPLEMENTED from a runtime without GetContainerEvents. A lost event is never repeated: only a hint.
        """
        return self._runtime.events(pb.GetEventsRequest())

    # Images

    async def image_status(self, image: str, timeout_s: float | None = None) -> pb.Image | None:
        """The image, or None when the runtime has none of this reference."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=image))
        reply = await self._image.status(request, timeout_s or self._request_s)
        return reply.image if reply.HasField("image") else None

    async def pull_image(
        self,
        image: str,
        sandbox_config: pb.PodSandboxConfig | None = None,
        auth: pb.AuthConfig | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Pull an image; its resolved reference. No deadline unless given: the runtime watches the pull's progress."""
        request = pb.PullImageRequest(image=pb.ImageSpec(image=image), sandbox_config=sandbox_config, auth=auth)
        return (await self._image.pull(request, timeout_s)).image_ref

    async def list_images(self) -> list[pb.Image]:
        """Every image that the runtime holds."""
        return list((await self._image.list(pb.ListImagesRequest(), self._request_s)).images)

    async def remove_image(self, image: str) -> None:
        """Remove an image under all of its names. Idempotent."""
        await self._image.remove(pb.RemoveImageRequest(image=pb.ImageSpec(image=image)), self._request_s)

    async def image_fs_info(self) -> pb.ImageFsInfoResponse:
        """Use of the file systems of images and, where told, of containers."""
        return await self._image.fs_info(pb.ImageFsInfoRequest(), self._request_s)
