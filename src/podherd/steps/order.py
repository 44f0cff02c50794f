"""The one list of all steps, in the order in which a pod's plan is performed (kubelet behaviour, 2.4 and 3.2)."""

from podherd.steps.cgroup import CgroupParent
from podherd.steps.clean_up import CleanUp
from podherd.steps.containers import Containers
from podherd.steps.context import Step
from podherd.steps.dirs import Dirs
from podherd.steps.kill import Kill
from podherd.steps.objects import Objects
from podherd.steps.release import Release
from podherd.steps.remove import Remove
from podherd.steps.resize import Resize
from podherd.steps.sandbox import Sandbox
from podherd.steps.stop_sandboxes import StopSandboxes
from podherd.steps.volumes import Volumes

STEPS: tuple[Step, ...] = (
    Kill(),
    StopSandboxes(),
    Remove(),
    Resize(),
    Dirs(),
    CgroupParent(),
    Objects(),
    Volumes(),
    Sandbox(),
    Containers(),
    Release(),
    CleanUp(),
)
