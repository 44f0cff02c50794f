"""What the API server checks on creation, one broken rule at a time."""

import copy

import pytest

from podherd.model import schema, validate
from podherd.model.defaults import set_defaults


def _found(pod):
    assert schema.problems(pod) == [], "the schema alone refuses it"
    set_defaults(pod)
    return [str(problem) for problem in validate.problems(pod)]


def _pod(container=None, metadata=None, **spec):
    containers = [{"name": "a", "image": "x:1", **(container or {})}]
    return {"metadata": {"name": "web", **(metadata or {})}, "spec": {"containers": containers, **copy.deepcopy(spec)}}


def _mounted(*mounts, **container):
    return _pod({"volumeMounts": list(mounts), **container}, volumes=[{"name": "v", "emptyDir": {}}])


def _resources(**resources):
    return _pod({"resources": resources})


def _init(*containers, **more):
    own = [{"name": f"i{index}", "image": "x:1", **container} for index, container in enumerate(containers)]
    return _pod(initContainers=own, **more)


def _rules(*rules, **container):
    return _pod({"restartPolicy": "Never", "restartPolicyRules": list(rules), **container})


def _rule(action="Restart", operator="In", values=(1,)):
    return {"action": action, "exitCodes": {"operator": operator, "values": list(values)}}


def _file_key(**key):
    reference = {"volumeName": "v", "path": "a.env", "key": "K", **key}
    return _mounted(env=[{"name": "A", "valueFrom": {"fileKeyRef": reference}}])


def test_a_plain_pod_has_no_problem():
    assert _found(_pod()) == []


FULL = _pod(
    {
        "ports": [
            {"containerPort": 80, "name": "http", "hostPort": 8080, "hostIP": "127.0.0.1"},
            {"containerPort": 80, "hostPort": 8080, "protocol": "UDP"},
        ],
        "env": [
            {"name": "A b.c-d", "value": "x"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi", "example.com/gpu": 1},
            "requests": {"cpu": "500m"},
        },
        "volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "x/y"}, {"name": "w", "mountPath": "/b"}],
        "livenessProbe": {"httpGet": {"port": "http", "httpHeaders": [{"name": "Host", "value": "x"}]}},
        "readinessProbe": {"tcpSocket": {"port": 80}, "successThreshold": 3},
        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}, "stopSignal": "SIGRTMINPLUS3"},
        "securityContext": {"runAsUser": 0, "seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}},
    },
    {"namespace": "prod", "labels": {"app.kubernetes.io/name": "web", "x": ""}, "annotations": {"Any/Key": "v"}},
    volumes=[
        {"name": "v", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
        {"name": "w", "hostPath": {"path": "/"}},
    ],
    tolerations=[{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 3}],
    hostAliases=[{"ip": "::1", "hostnames": ["a.b"]}],
    dnsPolicy="None",
    dnsConfig={"nameservers": ["10.0.0.1"], "searches": ["a.b"], "options": [{"name": "ndots", "value": "2"}]},
    securityContext={"fsGroup": 7, "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]},
    activeDeadlineSeconds=5,
    nodeSelector={"disk": "ssd"},
    hostname="h",
)
KINDS = _pod(
    {
        "restartPolicy": "OnFailure",
        "restartPolicyRules": [_rule(values=range(255)), _rule("RestartAllContainers", "NotIn", [0])],
        "resources": {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"}},
        "env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "x/a.env", "key": "A"}}}],
        "ports": [{"containerPort": 80, "hostPort": 8080}],
        "securityContext": {"procMount": "Unmasked"},
        "lifecycle": {"postStart": {"exec": {"command": ["a"]}}, "preStop": {"sleep": {"seconds": 30}}},
    },
    {"annotations": {"container.apparmor.security.beta.kubernetes.io/a": "localhost/tight"}},
    initContainers=[
        {"name": "first", "image": "x", "restartPolicy": "Never", "ports": [{"containerPort": 1, "hostPort": 8080}]},
        {
            "name": "side",
            "image": "x",
            "restartPolicy": "Always",
            "restartPolicyRules": [_rule()],
            "startupProbe": {"tcpSocket": {"port": 1}},
            "lifecycle": {"preStop": {"httpGet": {"port": 1}}},
            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
        },
        {"name": "last", "image": "x"},
    ],
    volumes=[{"name": "v", "emptyDir": {}}],
    hostUsers=False,
    hostnameOverride="some.other.name",
    resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "4Mi"}},
    dnsConfig={"searches": [".", "a_b.test."]},
)


def test_a_pod_with_every_kind_of_container_has_no_problem():
    assert _found(copy.deepcopy(KINDS)) == []


def test_a_pod_that_uses_much_has_no_problem():
    assert _found(copy.deepcopy(FULL)) == []


TABLE = [
    # metadata
    (_pod(metadata={"name": ""}), "metadata.name: Required value"),
    (_pod(metadata={"name": "Web"}), 'metadata.name: Invalid value: "Web": a lowercase RFC 1123 subdomain'),
    (_pod(metadata={"name": "w" * 254}), "must be no more than 253 characters"),
    (_pod(metadata={"namespace": "a.b"}), 'metadata.namespace: Invalid value: "a.b": a lowercase RFC 1123 label'),
    *((_pod(metadata={"uid": uid}), f'metadata.uid: Invalid value: "{uid}": must consist of at most 128')
      for uid in (".", "..", "a/b", "../x", "-a", "a b", "a\x00")),
    (_pod(metadata={"uid": "a" * 129}), "must consist of at most 128 alphanumeric"),
    (_pod(metadata={"labels": {"a b": "x"}}), 'metadata.labels: Invalid value: "a b": name part'),
    (_pod(metadata={"labels": {"/a": "x"}}), "prefix part"),
    (_pod(metadata={"labels": {"a": "-x"}}), 'metadata.labels[a]: Invalid value: "-x": a valid label value'),
    (_pod(metadata={"labels": {"a": "x" * 64}}), "must be no more than 63 characters"),
    (_pod(metadata={"annotations": {"é": "x"}}), 'metadata.annotations: Invalid value: "é"'),
    (_pod(metadata={"annotations": {"a": "x" * 262144}}), "metadata.annotations: Too long"),
    # containers
    (_pod({"name": ""}), "spec.containers[0].name: Required value"),
    (_pod({"name": "A"}), 'spec.containers[0].name: Invalid value: "A"'),
    (_pod(containers=[]), "spec.containers: Required value"),
    (_pod(containers=[{"name": "a", "image": "x"}, {"name": "a", "image": "x"}]),
     'spec.containers[1].name: Duplicate value: "a"'),
    (_pod(initContainers=[{"name": "a", "image": "x"}]), 'spec.containers[0].name: Duplicate value: "a"'),
    (_pod(ephemeralContainers=[{"name": "e", "image": "x"}]), "spec.ephemeralContainers: Forbidden"),
    (_pod({"image": ""}), "spec.containers[0].image: Required value"),
    (_pod({"image": " x"}), "must not have leading or trailing whitespace"),
    (_pod({"imagePullPolicy": "always"}), 'imagePullPolicy: Unsupported value: "always"; supported: "Always"'),
    (_pod({"terminationMessagePolicy": "X"}), "terminationMessagePolicy: Unsupported value"),
    # ports
    (_pod({"ports": [{"containerPort": 0}]}), "ports[0].containerPort: Invalid value: 0: must be between"),
    (_pod({"ports": [{"containerPort": 1, "hostPort": 70000}]}), "hostPort: Invalid value: 70000"),
    (_pod({"ports": [{"containerPort": 1, "protocol": "tcp"}]}), 'protocol: Unsupported value: "tcp"'),
    (_pod({"ports": [{"containerPort": 1, "name": "a--b"}]}), "ports[0].name: Invalid value"),
    (_pod({"ports": [{"containerPort": 1, "name": "1"}]}), "at least one letter"),
    (_pod({"ports": [{"containerPort": 1, "name": "p"}, {"containerPort": 2, "name": "p"}]}),
     'ports[1].name: Duplicate value: "p"'),
    (_pod({"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]}),
     'ports[1].hostPort: Duplicate value: "TCP//9"'),
    (_pod({"ports": [{"containerPort": 1, "hostPort": 2}]}, hostNetwork=True), "must match `containerPort`"),
    (_pod({"ports": [{"containerPort": 1, "hostIP": "x"}]}), "hostIP: Invalid value"),
    # env
    (_pod({"env": [{"name": ""}]}), "env[0].name: Required value"),
    (_pod({"env": [{"name": "A=B"}]}), 'env[0].name: Invalid value: "A=B"'),
    (_pod({"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
     "may not be specified when `value` is not empty"),
    (_pod({"env": [{"name": "A", "valueFrom": {}}]}), "must specify exactly one of"),
    (_pod({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.restartPolicy"}}}]}),
     'fieldPath: Unsupported value: "spec.restartPolicy"'),
    (_pod({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}}]}),
     "fieldRef.apiVersion: Invalid value"),
    (_pod({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": ""}}}]}), "resource: Required value"),
    (_pod({"envFrom": [{}]}), "envFrom[0]: Invalid value"),
    (_pod({"envFrom": [{"prefix": "=", "secretRef": {"name": "s"}}]}), "envFrom[0].prefix: Invalid value"),
    (_pod({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]}),
     'resource: Unsupported value: "limits.gpu"; supported: limits.cpu'),
    (_pod({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}}]}),
     'divisor: Invalid value: "2": only divisor\'s values 1m, 1 are supported'),
    (_pod({"env": [{"name": "A", "valueFrom": {"resourceFieldRef":
                                              {"resource": "requests.hugepages-2Mi", "divisor": "1m"}}}]}),
     "only divisor's values 1, 1k, 1M"),
    (_file_key(key=""), "fileKeyRef.key: Required value"),
    (_file_key(key="a=b"), 'fileKeyRef.key: Invalid value: "a=b"'),
    (_file_key(path=""), "fileKeyRef.path: Required value"),
    (_file_key(path="../x"), "fileKeyRef.path: Invalid value"),
    (_file_key(volumeName="w"), 'fileKeyRef.volumeName: Not found: "w"'),
    (_pod({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "a", "key": "A"}}}]},
          volumes=[{"name": "v", "hostPath": {"path": "/"}}]), "referenced volume must be of type emptyDir"),
    # kinds, restarts
    (_init({"lifecycle": {}}), "initContainers[0].lifecycle: Forbidden: may not be set for init containers without"),
    *((_init({probe: {"tcpSocket": {"port": 1}}}), f"initContainers[0].{probe}: Forbidden")
      for probe in ("livenessProbe", "readinessProbe", "startupProbe")),
    (_init({"restartPolicy": "Always", "startupProbe": {}}), "initContainers[0].startupProbe: Required value"),
    (_init({}, {"name": "i0"}), 'spec.initContainers[1].name: Duplicate value: "i0"'),
    (_init({"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]}),
     'initContainers[0].ports[1].hostPort: Duplicate value: "TCP//9"'),
    (_init({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}),
     "for non-sidecar initContainers"),
    (_pod({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2}), 'Duplicate value: "cpu"'),
    (_pod({"resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]}), "resourceName: Unsupported"),
    (_pod({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "x"}]}), "restartPolicy: Unsupported value"),
    (_pod({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}, restartPolicy="Never"),
     "must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
    (_pod({"restartPolicy": "Sometimes"}), 'containers[0].restartPolicy: Unsupported value: "Sometimes"'),
    (_pod({"restartPolicyRules": [_rule()]}), "must specify restartPolicy when restart rules are used"),
    (_rules(*[_rule()] * 21), "restartPolicyRules: Too many: 21: must have at most 20 items"),
    (_rules(_rule("Stop")), 'restartPolicyRules[0].action: Unsupported value: "Stop"'),
    (_rules({"action": "Restart"}), "restartPolicyRules[0].exitCodes: Required value: must be specified"),
    (_rules(_rule(operator="Is")), 'exitCodes.operator: Unsupported value: "Is"'),
    (_rules(_rule(values=range(256))), "exitCodes.values: Too many: 256: must have at most 255 items"),
    # resources
    (_resources(limits={"memory": "128MB"}), 'limits[memory]: Invalid value: "128MB": is not a Kubernetes quantity'),
    (_resources(limits={"memory": -1}), 'limits[memory]: Invalid value: "-1": must be greater than or equal to 0'),
    (_resources(limits={"cpu": "1"}, requests={"cpu": "1001m"}), "must be less than or equal to cpu limit of 1"),
    (_resources(limits={"gpu": "1"}), 'limits: Invalid value: "gpu": must be a standard resource'),
    (_resources(limits={"a b/gpu": "1"}), "prefix part"),
    (_resources(limits={"a.b/gpu": "1500m"}), "must be an integer"),
    (_resources(limits={"hugepages-2Mi": "2Mi"}), "resources: Forbidden: HugePages require cpu or memory"),
    (_resources(requests={"a.b/gpu": "1"}), "Limit must be set for non overcommitable resources"),
    (_resources(limits={"a.b/gpu": "2"}, requests={"a.b/gpu": "1"}), "must be equal to a.b/gpu limit of 2"),
    # mounts and volumes
    (_mounted({"name": "w", "mountPath": "/a"}), 'volumeMounts[0].name: Not found: "w"'),
    (_mounted({"name": "", "mountPath": "/a"}), "volumeMounts[0].name: Required value"),
    (_mounted({"name": "v", "mountPath": ""}), "mountPath: Required value"),
    (_mounted({"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}), "must be unique"),
    (_mounted({"name": "v", "mountPath": "/a", "subPath": "../x"}), "must not contain '..'"),
    (_mounted({"name": "v", "mountPath": "/a", "subPath": "/x"}), "must be a relative path"),
    (_mounted({"name": "v", "mountPath": "/a", "subPath": "x", "subPathExpr": "y"}), "mutually exclusive"),
    (_mounted({"name": "v", "mountPath": "/a", "mountPropagation": "X"}), "mountPropagation: Unsupported value"),
    (_mounted({"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}), "only to privileged containers"),
    (_mounted({"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"}), "readOnly is true"),
    (_pod(volumes=[{"name": "V"}]), 'spec.volumes[0].name: Invalid value: "V"'),
    (_pod(volumes=[{"name": ""}]), "spec.volumes[0].name: Required value"),
    (_pod(volumes=[{"name": "v"}, {"name": "v"}]), 'spec.volumes[1].name: Duplicate value: "v"'),
    (_pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]), "more than 1 volume type"),
    (_pod(volumes=[{"name": "v", "emptyDir": {"medium": "Disk"}}]), "medium: Unsupported value"),
    (_pod(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "x"}}]), "sizeLimit: Invalid value"),
    (_pod(volumes=[{"name": "v", "hostPath": {"path": "/a/../b"}}]), "must not contain '..'"),
    (_pod(volumes=[{"name": "v", "hostPath": {"path": ""}}]), "hostPath.path: Required value"),
    (_pod(volumes=[{"name": "v", "hostPath": {"path": "/", "type": "Dir"}}]), "type: Unsupported value"),
    # handlers
    (_pod({"livenessProbe": {}}), "livenessProbe: Required value: must specify a handler type"),
    (_pod({"livenessProbe": {"tcpSocket": {"port": 1}, "grpc": {"port": 1}}}), "more than 1 handler type"),
    (_pod({"livenessProbe": {"exec": {}}}), "exec.command: Required value"),
    (_pod({"livenessProbe": {"httpGet": {"port": 0}}}), "httpGet.port: Invalid value: 0"),
    (_pod({"livenessProbe": {"httpGet": {"port": "a b"}}}), "httpGet.port: Invalid value"),
    (_pod({"livenessProbe": {"httpGet": {"port": 1, "scheme": "ftp"}}}), "scheme: Unsupported value"),
    (_pod({"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]}}}),
     "httpHeaders[0].name: Invalid value"),
    (_pod({"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}}), "successThreshold: Invalid value: 2"),
    (_pod({"startupProbe": {"tcpSocket": {"port": 1}, "initialDelaySeconds": -1}}), "initialDelaySeconds: Invalid"),
    (_pod({"readinessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 1}}), "must not be set"),
    (_pod({"livenessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0}}), "greater than 0"),
    (_pod({"lifecycle": {"postStart": {}}}), "postStart: Required value"),
    (_pod({"lifecycle": {"stopSignal": "TERM"}}), "stopSignal: Invalid value"),
    (_pod({"lifecycle": {"preStop": {"tcpSocket": {"port": 1}}}}),
     "preStop.tcpSocket: Forbidden: TCPSocket is NOT supported as a LifecycleHandler"),
    (_pod({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}),
     "preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)"),
    (_pod({"lifecycle": {"postStart": {"sleep": {"seconds": -1}}}}), "postStart.sleep: Invalid value: -1"),
    # security
    (_pod({"securityContext": {"runAsUser": -1}}), "runAsUser: Invalid value: -1"),
    (_pod({"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}}), "`privileged` to true"),
    (_pod({"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_ADMIN"]}}}),
     "CAP_SYS_ADMIN"),
    (_pod({"securityContext": {"procMount": "x"}}), "procMount: Unsupported value"),
    (_pod({"securityContext": {"seccompProfile": {"type": "Localhost"}}}), "must be set when type is Localhost"),
    (_pod({"securityContext": {"seccompProfile": {"type": "X"}}}), "seccompProfile.type: Unsupported value"),
    (_pod(securityContext={"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}), "can only be set"),
    (_pod(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "../x"}}), "without '..'"),
    (_pod(securityContext={"supplementalGroups": [-1]}), "supplementalGroups[0]: Invalid value"),
    (_pod(securityContext={"sysctls": [{"name": "", "value": ""}]}), "sysctls[0].name: Required value"),
    (_pod(securityContext={"sysctls": [{"name": "a.b", "value": ""}] * 2}), "is there twice"),
    (_pod(securityContext={"fsGroupChangePolicy": "x"}), "fsGroupChangePolicy: Unsupported value"),
    (_pod(securityContext={"supplementalGroupsPolicy": "x"}), "supplementalGroupsPolicy: Unsupported value"),
    (_pod({"securityContext": {"procMount": "Unmasked"}}), "`hostUsers` must be false to use `Unmasked`"),
    (_pod(securityContext={"sysctls": [{"name": "Net.x", "value": ""}]}), 'sysctls[0].name: Invalid value: "Net.x"'),
    (_pod(metadata={"annotations": {"container.apparmor.security.beta.kubernetes.io/a": "tight"}}),
     'invalid AppArmor profile name: "tight"'),
    # the pod
    (_pod(hostnameOverride="A"), 'spec.hostnameOverride: Invalid value: "A"'),
    (_pod(hostnameOverride="a" * 65), "spec.hostnameOverride: Too long: may not be more than 64 bytes"),
    (_pod(hostnameOverride="a", hostNetwork=True), "may not be specified when hostNetwork is true"),
    (_pod(hostnameOverride="a", setHostnameAsFQDN=True), "may not be specified when setHostnameAsFQDN is true"),
    (_pod(resources={"limits": {"ephemeral-storage": "1"}}), 'Unsupported value: "ephemeral-storage"; supported'),
    (_pod(resources={"limits": {"cpu": "1x"}}), 'spec.resources.limits[cpu]: Invalid value: "1x"'),
    (_pod(resources={"claims": [{"name": "c"}]}), "spec.resources.claims: Forbidden"),
    (_pod({"resources": {"requests": {"cpu": "2"}}}, resources={"requests": {"cpu": "1"}}),
     "must be greater than or equal to aggregate container requests of 2000m"),
    (_pod({"resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "1"}}},
          resources={"limits": {"memory": "1Gi"}}),
     "containers[0].resources.limits[memory]: Invalid value: \"2Gi\": must be less than or equal to pod limits of 1Gi"),
    (_pod(dnsConfig={"searches": ["-a"]}), "searches[0]: Invalid value"),
    (_pod(dnsConfig={"searches": ["a" * 60 + ".b"] * 32 + ["a" * 100]}), "more than 32 search paths"),
    (_pod(dnsConfig={"searches": [("a" * 62 + ".") * 3 + "b"] * 11}), "more than 2048 characters"),
    (_pod(restartPolicy="never"), 'restartPolicy: Unsupported value: "never"; supported: "Always", "OnFailure"'),
    (_pod(activeDeadlineSeconds=0), "activeDeadlineSeconds: Invalid value: 0"),
    (_pod(dnsPolicy="x"), "dnsPolicy: Unsupported value"),
    (_pod(dnsPolicy="None"), "dnsConfig.nameservers: Required value"),
    (_pod(dnsConfig={"nameservers": ["x"]}), "nameservers[0]: Invalid value"),
    (_pod(dnsConfig={"nameservers": ["1.1.1.1"] * 4}), "more than 3 nameservers"),
    (_pod(dnsConfig={"searches": ["a"] * 33}), "more than 32 search paths"),
    (_pod(dnsConfig={"options": [{}]}), "options[0].name: Required value"),
    (_pod(hostname="a.b"), "spec.hostname: Invalid value"),
    (_pod(subdomain="A"), "spec.subdomain: Invalid value"),
    (_pod(runtimeClassName="A"), "spec.runtimeClassName: Invalid value"),
    (_pod(nodeSelector={"a": "b c"}), "spec.nodeSelector[a]: Invalid value"),
    (_pod(shareProcessNamespace=True, hostPID=True), "cannot both be enabled"),
    (_pod(hostUsers=False, hostNetwork=True), "spec.hostNetwork: Forbidden"),
    (_pod(os={"name": "beos"}), "spec.os.name: Unsupported value"),
    (_pod(hostAliases=[{"ip": "x"}]), "hostAliases[0].ip: Invalid value"),
    (_pod(hostAliases=[{"ip": "::1", "hostnames": ["_"]}]), "hostnames[0]: Invalid value"),
    (_pod(tolerations=[{"operator": "x", "key": "k"}]), "operator: Unsupported value"),
    (_pod(tolerations=[{"operator": "Equal"}]), "operator must be Exists when `key` is empty"),
    (_pod(tolerations=[{"operator": "Exists", "key": "k", "value": "v"}]), "value must be empty"),
    (_pod(tolerations=[{"key": "k", "effect": "x"}]), "effect: Unsupported value"),
    (_pod(tolerations=[{"key": "k", "tolerationSeconds": 1}]), "effect must be 'NoExecute'"),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "words"), TABLE, ids=[words[:60] for _, words in TABLE])
def test_one_broken_rule_is_one_problem(pod, words):
    pod = copy.deepcopy(pod)
    if not pod["spec"]["containers"]:
        set_defaults(pod)
        found = [str(problem) for problem in validate.problems(pod)]
    else:
        found = _found(pod)
    assert len([problem for problem in found if words in problem]) == 1, found


_REFERENCES = [
    ({"serviceAccountName": "s"}, "serviceaccounts"),
    ({"imagePullSecrets": [{"name": "s"}]}, "secrets"),
    ({"resourceClaims": [{"name": "r"}]}, "resourceclaims"),
    ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]}, "secrets"),
    ({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"key": "k"}}}]}, "configmaps"),
    ({"envFrom": [{"secretRef": {"name": "s"}}]}, "secrets"),
    ({"envFrom": [{"configMapRef": {"name": "s"}}]}, "configmaps"),
    ({"configMap": {}}, "configmaps (via configmap volumes)"),
    ({"secret": {}}, "secrets (via secret volumes)"),
    ({"csi": {"driver": "d"}}, "csidrivers (via CSI volumes)"),
    ({"glusterfs": {"endpoints": "e", "path": "p"}}, "endpoints (via glusterFS volumes)"),
    ({"persistentVolumeClaim": {"claimName": "c"}}, "persistentvolumeclaims"),
    ({"ephemeral": {}}, "persistentvolumeclaims (via ephemeral volumes)"),
    ({"azureFile": {"secretName": "s", "shareName": "n"}}, "secrets (via azureFile volumes)"),
    ({"rbd": {"image": "i", "monitors": ["m"], "secretRef": {"name": "s"}}}, "secrets"),
    ({"projected": {"sources": [{"configMap": {}}]}}, "configmaps (via projected volumes)"),
    ({"projected": {"sources": [{"secret": {}}]}}, "secrets (via projected volumes)"),
    ({"projected": {"sources": [{"serviceAccountToken": {"path": "p"}}]}}, "serviceaccounts (via projected volumes)"),
    ({"projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}, "clustertrustbundles"),
    ({"projected": {"sources": [{"podCertificate": {"keyType": "k", "signerName": "s"}}]}}, "podcertificates"),
]


@pytest.mark.parametrize(("part", "reference"), _REFERENCES)
def test_a_static_pod_may_not_refer_to_objects_of_the_api(part, reference):
    field = next(iter(part))
    if field in ("env", "envFrom"):
        pod = _pod(part)
    elif field in ("serviceAccountName", "imagePullSecrets", "resourceClaims"):
        pod = _pod(**part)
    else:
        pod = _pod(volumes=[{"name": "v", **part}])
    assert schema.problems(pod) == []
    text, mend = validate.forbidden_reference(pod["spec"])
    assert text == f"static pods may not reference {reference}"
    assert mend


@pytest.mark.parametrize(
    "volume",
    [{"emptyDir": {}}, {"hostPath": {"path": "/"}}, {"downwardAPI": {}},
     {"projected": {"sources": [{"downwardAPI": {}}]}}, {"image": {"reference": "x"}},
     {"nfs": {"server": "s", "path": "/"}}],
)  # fmt: skip
def test_volumes_that_need_no_api_are_no_reference(volume):
    assert validate.forbidden_reference(_pod(volumes=[{"name": "v", **volume}])["spec"]) == ("", "")
