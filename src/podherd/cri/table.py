"""The CRI methods that podherd calls, each built once on its channel."""

from functools import partial

import grpc
from cri_api.v1 import api_pb2 as pb

from podherd.cri.calls import IMAGE, RUNTIME, Call, StreamCall


class RuntimeCalls:
    """`runtime.v1.RuntimeService`, one attribute a method. The two lists are undecoded bytes."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        call = partial(Call, channel, RUNTIME)
        self.version = call("Version", pb.VersionRequest, pb.VersionResponse.FromString)
        self.status = call("Status", pb.StatusRequest, pb.StatusResponse.FromString)
        self.config = call("RuntimeConfig", pb.RuntimeConfigRequest, pb.RuntimeConfigResponse.FromString)
        self.run_sandbox = call("RunPodSandbox", pb.RunPodSandboxRequest, pb.RunPodSandboxResponse.FromString)
        self.stop_sandbox = call("StopPodSandbox", pb.StopPodSandboxRequest, pb.StopPodSandboxResponse.FromString)
        self.remove_sandbox = call(
            "RemovePodSandbox", pb.RemovePodSandboxRequest, pb.RemovePodSandboxResponse.FromString
        )
        self.sandbox_status = call(
            "PodSandboxStatus", pb.PodSandboxStatusRequest, pb.PodSandboxStatusResponse.FromString
        )
        self.create = call("CreateContainer", pb.CreateContainerRequest, pb.CreateContainerResponse.FromString)
        self.start = call("StartContainer", pb.StartContainerRequest, pb.StartContainerResponse.FromString)
        self.stop = call("StopContainer", pb.StopContainerRequest, pb.StopContainerResponse.FromString)
        self.update_resources = call(
            "UpdateContainerResources",
            pb.UpdateContainerResourcesRequest,
            pb.UpdateContainerResourcesResponse.FromString,
        )
        self.remove = call("RemoveContainer", pb.RemoveContainerRequest, pb.RemoveContainerResponse.FromString)
        self.container_status = call(
            "ContainerStatus", pb.ContainerStatusRequest, pb.ContainerStatusResponse.FromString
        )
        self.exec_sync = call("ExecSync", pb.ExecSyncRequest, pb.ExecSyncResponse.FromString)
        self.exec = call("Exec", pb.ExecRequest, pb.ExecResponse.FromString)
        self.attach = call("Attach", pb.AttachRequest, pb.AttachResponse.FromString)
        self.list_stats = call(
            "ListContainerStats", pb.ListContainerStatsRequest, pb.ListContainerStatsResponse.FromString
        )
        self.reopen_log = call(
            "ReopenContainerLog", pb.ReopenContainerLogRequest, pb.ReopenContainerLogResponse.FromString
        )
        self.list_sandboxes: Call[pb.ListPodSandboxRequest, bytes] = call(
            "ListPodSandbox", pb.ListPodSandboxRequest, None
        )
        self.list_containers: Call[pb.ListContainersRequest, bytes] = call(
            "ListContainers", pb.ListContainersRequest, None
        )
        self.events = StreamCall(
            channel, RUNTIME, "GetContainerEvents", pb.GetEventsRequest, pb.ContainerEventResponse.FromString
        )


class ImageCalls:
    """`runtime.v1.ImageService`, one attribute a method."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        call = partial(Call, channel, IMAGE)
        self.status = call("ImageStatus", pb.ImageStatusRequest, pb.ImageStatusResponse.FromString)
        self.pull = call("PullImage", pb.PullImageRequest, pb.PullImageResponse.FromString)
        self.list = call("ListImages", pb.ListImagesRequest, pb.ListImagesResponse.FromString)
        self.remove = call("RemoveImage", pb.RemoveImageRequest, pb.RemoveImageResponse.FromString)
        self.fs_info = call("ImageFsInfo", pb.ImageFsInfoRequest, pb.ImageFsInfoResponse.FromString)
