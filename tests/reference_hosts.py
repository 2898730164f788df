"""Lines of kernels, drivers and device tools after their formats, version by version."""

from tests.reference_rows import Ref, ref

_X = "NVRM: Xid (PCI:0000:5d:00): "
_XID_94 = _X + "94, pid=4711, name=python3, Contained: SM (0x1). RST: No, D-RST: No"
_94 = {"kind": "gpu_error", "code": "xid:94", "pci": "0000:5d:00", "rank": None}

PREFIXES: tuple[Ref, ...] = (
    *(
        ref(f"kernel/prefix/{name}", before + _XID_94, **_94, time_basis=basis)
        for name, before, basis in (
            ("none", "", None),
            ("dmesg-T", "[Sun Feb 23 16:24:18 2025] ", "local"),
            ("dmesg", "[171167.620236] ", "boot"),
            ("dmesg-padded", "[    1.204511] ", "boot"),
            ("dmesg-caller", "[  171.620236][ T1234] ", "boot"),
            ("dmesg-delta", "[  +0.000127] ", None),
            ("dmesg-H-minute", "[May19 19:57] ", None),
            ("dmesg-decode-iso", "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ", "utc"),
            ("dmesg-iso", "2024-11-15T12:02:03,470068+00:00 ", "utc"),
            ("kmsg", "6,3964,206764307,-;", "boot"),
            ("pstore", "<4>[  201.650001] ", "boot"),
            ("journalctl-short-iso", "2025-01-17T17:10:43+0000 gpu-017 kernel: ", "utc"),
            ("journalctl-iso-boot", "2025-01-17T17:10:43+0000 gpu-017 kernel: [68183.615790] ", "utc"),
        )
    ),
    ref("kernel/prefix/journal-host", f"2025-01-17T17:10:43+0000 gpu-017 kernel: {_XID_94}", host="gpu-017", **_94),
    ref("kernel/prefix/syslog", f"Aug 17 06:18:01 gpu-017 kernel: {_XID_94}", host="gpu-017", **_94),
    ref("kernel/prefix/syslog-boot", f"Sep 19 16:18:02 gpu-017 kernel: [68183.615790] {_XID_94}", host="gpu-017", **_94),
    ref("kernel/prefix/syslog-daemon", "Aug 17 06:18:01 gpu-017 systemd-networkd[5398]: ib6: Lost carrier", kind="link_down",
        host="gpu-017"),
)  # fmt: skip

_NVLINK_HEAD = _X + "149, NETIR_LINK_EVT Fatal   XC0 i0 Link 07 "

XID: tuple[Ref, ...] = (
    ref("xid/570-instance", "NVRM: Xid (PCI:0000:5d:00 GPU-I:01 GPU-CI:00): 43, pid=4711, name=python3, Ch 00000008",
        code="xid:43", detail_instance="GPU-I:01 GPU-CI:00", pid=4711),
    ref("xid/570-caused-by", _X + "45, pid=4711, name=python3, Ch 00000008 caused by previous Xid 94", code="xid:45",
        detail_caused_by="xid:94", detail_is_consequence_of_other="yes"),
    ref("xid/570-no-process", _X + "79, GPU has fallen off the bus.", kind="gpu_error", code="xid:79", pid=None),
    ref("xid/515-unknown", _X + "31, pid='<unknown>', name=<unknown>, Ch 00000010, intr 00000000. MMU Fault: ENGINE CE2 "
        "HUBCLIENT_CE0 faulted @ 0x7f29_5b8c9000. Fault is of type FAULT_PRIV_VIOLATION ACCESS_TYPE_VIRT_READ",
        code="xid:31", pid=None),
    ref("xid/4xx-pid-only", _X + "43, pid=1896, Ch 00000008", code="xid:43", pid=1896),
    ref("xid/older-no-pid", _X + "32, Channel ID 0000000d intr0 00040000", code="xid:32", pid=None),
    ref("xid/oldest", "NVRM: Xid (0000:5d:00): 13, 0001 00000000", code="xid:13", pci="0000:5d:00"),
    *(
        ref(f"xid/{name}", f"{_X}{words}", kind="gpu_error", code=f"xid:{words.split(',')[0]}")
        for name, words in (
            ("13-warp", "13, pid=4711, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address"),
            ("13-global", "13, pid=4711, name=python3, Graphics SM Global Exception on (GPC 0, TPC 1, SM 0): Multiple Warp "
             "Errors"),
            ("13-esr", "13, pid=4711, name=python3, Graphics Exception: ESR 0x504730=0xc81000e 0x504734=0x4"),
            ("48", "48, pid=4711, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU in the "
             "framebuffer at physAddr 0x11 partition 2, subpartition 0."),
            ("62", "62, 00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008"),
            ("63-row", "63, Row Remapper: New row (0x000000000a) marked for remapping, reset gpu to activate."),
            ("63-page", "63, Dynamic Page Retirement: New page retired, reboot to activate (0x0000000000068c)."),
            ("64", "64, Row Remapper Error: (0x000000000a) - All reserved rows for bank are remapped"),
            ("69", "69, pid=4711, name=python3, Class Error: ChId 0008, Class 0000c8c0, Offset 0, Data 0, ErrorCode 4"),
            ("74", "74, pid=4711, name=python3, NVLink: fatal error detected on link 14(0x0, 0x1, 0x0, 0x0, 0x0, 0x0, 0x0)"),
            ("95", "95, pid=4711, name=python3, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No"),
            ("109", "109, pid=4711, name=python3, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005"),
            ("119", "119, pid=4711, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected "
             "function 103 (GSP_RM_ALLOC) (0x2081 0x4)."),
            ("119-595", "119, pid=4711, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected "
             "function 103 sequence 77 (GSP_RM_ALLOC) (0x2081 0x4)."),
            ("136", "136, NVLink: Link training failed for link 3(0x0, 0x1, 0x0, 0x0, 0x0, 0x0, 0x0)"),
            ("140", "140, pid=4711, name=python3, An uncorrectable ECC error detected (possible firmware handling failure) "
             "DRAM:1, LTC:0, MMU:0, PCIE:0"),
            ("154", "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"),
        )
    ),
    ref("xid/154-action", _X + "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
        detail_recovery="Node Reboot Required", detail_recovery_before="None"),
    ref("xid/94-containment", _XID_94, detail_containment="contained"),
    ref("xid/95-containment", _X + "95, Uncontained: DRAM (0x2, 0x1) physAddr: 0x11. RST: Yes, D-RST: No",
        detail_containment="uncontained"),
    ref("xid/74-link", _X + "74, NVLink: fatal error detected on link 14(0x0, 0x1, 0x0, 0x0, 0x0, 0x0, 0x0)", detail_link=14),
    ref("xid/79-lost", _X + "79, GPU has fallen off the bus.", kind="gpu_lost", code="xid:79"),
    ref("xid/nvlink5/link-down-new", _NVLINK_HEAD + "(0x00a00011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
        code="xid:149", detail_link=7, detail_unit="NETIR_LINK_EVT", detail_nvlink_unit="NETIR_LINK_EVT/NETIR_LINK_DOWN",
        detail_subcode=10, detail_first_action="reset_gpu", detail_investigate="link_signal", severity="fatal"),
    ref("xid/nvlink5/link-down-old", _NVLINK_HEAD + "(0x00f001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)", code="xid:149", detail_subcode=15,
        detail_investigate="software_or_user", detail_driver_form="before 575"),
    ref("xid/nvlink5/not-fatal", _X + "144, SAW_MVB Nonfatal XC0 i0 Link 01 (0x00000001 0x00000020 0x0 0x0 0x0 0x0)",
        code="xid:144", detail_first_action="ignore", severity="warning"),
    ref("xid/nvlink5/145", _X + "145, RLW_REMAP Fatal XC1 i0 Link 01 (0x00000004 0x00000040 0x0 0x0 0x0 0x0)", code="xid:145",
        detail_nvlink_unit="RLW_REMAP", detail_first_action="reset_gpu"),
    ref("xid/nvlink5/146", _X + "146, TLW_RX Nonfatal XC0 i0 Link 01 (0x0000000a 0x00000002 0x0 0x0 0x0 0x0)", code="xid:146",
        detail_nvlink_unit="TLW_RX/TLW_RX_PIPE0"),
    ref("xid/nvlink5/147-cut", _X + "147, TREX Nonfatal XC0 i0 Link 01 (0x0000000e 0x80000000 0x0 0x0 0x0 0x0", code="xid:147",
        detail_nvlink_unit="TREX"),
    ref("xid/nvlink5/148", _X + "148, NVLPW_CTRL Nonfatal XC0 i0 Link 01 (0x0000000f 0x80000000 0x0 0x0 0x0 0x0)",
        code="xid:148", detail_nvlink_unit="NVLPW_CTRL/NVLPW"),
    ref("xid/nvlink5/150", _X + "150, MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000 0x0 0x0 0x0 0x0)",
        code="xid:150", detail_nvlink_unit="MSE_WATCHDOG", severity="fatal"),
    ref("xid/nvlink5/the-other-end", _NVLINK_HEAD + "(0x02000011 0x00000000 0x0 0x0 0x0 0x0)", detail_investigate="peer_device",
        detail_consequence=True),
    ref("xid/nvlink5/old-pipes-share-a-word", _X + "146, TLW_RX Fatal XC0 i0 Link 01 (0x00000143 0x00000004 0x0 0x0 0x0 0x0)",
        detail_nvlink_unit="TLW_RX", severity="fatal"),
    ref("xid/nvlink5/several-bits", _X + "144, SAW_MVB Fatal XC0 i0 Link 01 (0x00000001 0x00000022 0x0 0x0 0x0 0x0)",
        detail_first_action="reset_gpu", severity="fatal"),
    ref("xid/nvlink5/unknown-unit", _X + "149, NETIR_NEW Nonfatal XC0 i0 Link 01 (0x0000007f 0x00000000 0x0 0x0 0x0 0x0)",
        code="xid:149", detail_nvlink_unit=None, detail_unit="NETIR_NEW"),
    ref("nvrm/lost", "NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.", kind="gpu_lost", pci="0000:5d:00.0"),
    ref("nvrm/lost-at-boot", "NVRM: The NVIDIA GPU 0000:5d:00.0\nNVRM: (PCI ID: 10de:2330) installed in this system has\nNVRM: "
        "fallen off the bus and is not responding to commands.", kind="gpu_lost", pci="0000:5d:00.0"),
    ref("nvml/lost", "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this "
        "GPU", kind="gpu_lost", pci="0000:3b:00.0", code="nvml:GPU is lost"),
    ref("nvml/lost-numbered", "Unable to determine the device handle for GPU3: 0000:3B:00.0: Unknown Error", kind="gpu_lost",
        code="nvml:Unknown Error"),
    ref("nvrm/identity", "NVRM: GPU at PCI:0000:5d:00: GPU-0a1b2c3d-0000-1111-2222-333344445555", "devices",
        pci="0000:5d:00", uuid="GPU-0a1b2c3d-0000-1111-2222-333344445555"),
    ref("nvrm/serial", "NVRM: GPU at PCI:0000:5d:00: GPU-0a1b2c3d\nNVRM: GPU Board Serial Number: 1650023000000", "devices",
        metric="serial", text="1650023000000", pci="0000:5d:00"),
    ref("nvrm/init", "NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x62:0xffff:2477)", kind="gpu_lost"),
    ref("nvrm/init-more", "NVRM: GPU 0000:5d:00.0: rm_init_adapter failed, device minor number 3", None),
    ref("nvrm/loading", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024", "settings",
        name="driver", value="550.54.15"),
    ref("nvrm/loading-open", "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build", "settings",
        name="driver", value="570.86.15"),
    ref("nvrm/reset", "NVRM: nvCheckOkFailedNoLog: Check failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned",
        code="reset_required"),
    ref("nvrm/rate-limit", "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:5d:00 (printing 1 of every 30).  The "
        "GPU likely needs to be reset.", None),
    ref("nvrm/rpc-history", "NVRM: GPU0 GSP RPC buffer contains function 76 (GSP_RM_CONTROL) and data 0x00 0x00.", None),
    ref("sxid/non-fatal", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 61 egress non-posted PRIV error "
        "(First)", code="sxid:12028", severity="error", pci="0000:86:00.0", detail_link=61, only=True),
    ref("sxid/fatal", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", code="sxid:20034",
        severity="fatal", only=True),
    ref("sxid/correctable", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 22013, Correctable, Link 30 Minion Link DLREQ "
        "interrupt", severity="warning"),
    ref("sxid/soe-no-link", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 10001, Non-fatal, SOE error", code="sxid:10001"),
    ref("sxid/severity-line", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, Severity 0 Engine instance 61 Sub-engine "
        "instance 00", kind="gpu_error", code="sxid:12028", severity="error", pci="0000:86:00.0"),
    ref("sxid/data-line", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, Data {0x00000000, 0x00000001, 0x0, 0x0, 0x0, 0x0, "
        "0x0, 0x0}", None),
    ref("fabricmanager/sxid", "[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on "
        "NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61", code="sxid:12028", pci="0000:86:00.0",
        time_basis="local"),
    ref("fabricmanager/fatal", "[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch fatal error 20034 on fid 0 on "
        "NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61", code="sxid:20034", severity="fatal"),
    ref("fabricmanager/info", "[Feb 27 2025 15:10:02] [INFO] [tid 1808] multicast group 0 is allocated.", None),
)  # fmt: skip

_MLX = "mlx5_core 0000:41:00.0: "

NIC: tuple[Ref, ...] = (
    ref("mlx5/unplugged", f"{_MLX}Port module event: module 0, Cable unplugged", kind="link_down", pci="0000:41:00.0"),
    ref("mlx5/plugged", f"{_MLX}Port module event: module 0, Cable plugged", kind="link_up"),
    ref("mlx5/cable-error", f"{_MLX}Port module event[error]: module 0, Cable error, High Temperature", kind="port_error"),
    ref("mlx5/slot-power-is-benign", f"{_MLX}mlx5_pcie_event:299:(pid 9): Detected insufficient power on the PCIe slot (27W).",
        kind="other", severity="info", only=True),
    ref("mlx5/health", f"{_MLX}poll_health:955:(pid 0): device's health compromised - reached miss count", kind="port_error",
        severity="fatal"),
    ref("mlx5/syndrome", f"{_MLX}print_health_info:424:(pid 0): synd 0x7: irisc not responding", kind="port_error",
        detail_syndrome="0x7"),
    ref("mlx5/access-reg-is-noise", f"{_MLX}mlx5_cmd_out_err:838:(pid 9): ACCESS_REG(0x805) op_mod(0x1) failed, status bad "
        "operation(0x2)", severity="info", only=True),
    ref("mlx5/command-timeout", f"{_MLX}wait_func:1194:(pid 77): CREATE_QP(0x500) timeout. Will cause a leak of a command "
        "resource", code="nic:command_timeout"),
    ref("mlx5/unrecoverable", f"{_MLX}print_health_info:424:(pid 0): synd 0x8: unrecoverable hardware error",
        kind="port_error"),
    ref("mlx5/link-down", "mlx5_core 0000:41:00.0 ib0: Link down", kind="link_down", severity="warning",
        detail_interface="ib0"),
    ref("mlx5/link-up", "mlx5_core 0000:41:00.0 ib0: Link up", kind="link_up"),
    ref("networkd/lost", "systemd-networkd[5398]: ib6: lost carrier", kind="link_down", detail_interface="ib6"),
    ref("networkd/gained", "systemd-networkd[5398]: ib6: Gained carrier", kind="link_up"),
    ref("netdev/before-6.8", "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out", code="nic:tx_timeout"),
    ref("netdev/6.8", "mlx5_core 0000:41:00.0 eth0: NETDEV WATCHDOG: CPU: 7: transmit queue 3 timed out 5004 ms",
        code="nic:tx_timeout", pci="0000:41:00.0"),
    ref("efa", "efa 0000:41:00.0: Failed to process command CREATE_QP: command timeout", kind="port_error"),
)  # fmt: skip

PCI_AND_HOST: tuple[Ref, ...] = (
    ref("aer/old", "pcieport 0000:40:01.1: AER: Multiple Uncorrected (Fatal) error received: 0000:41:00.0", code="aer:fatal",
        pci="0000:41:00.0"),
    ref("aer/non-fatal", "pcieport 0000:40:01.1: AER: Uncorrected (Non-Fatal) error received: 0000:41:00.0",
        code="aer:nonfatal", severity="warning"),
    ref("aer/new", "pcieport 0000:40:01.1: AER: Correctable error message received from 0000:41:00.0", code="aer:correctable",
        severity="info"),
    ref("aer/bus-error", "mlx5_core 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
        "(Requester ID)", code="aer:fatal", pci="0000:41:00.0"),
    ref("aer/status", "mlx5_core 0000:41:00.0:   device [15b3:1021] error status/mask=00004000/00000000", None),
    ref("aer/bit", "mlx5_core 0000:41:00.0:    [14] CmpltTO                (First)", None),
    ref("aer/recovery", "pcieport 0000:40:01.1: AER: device recovery failed", code="aer:recovery_failed", severity="fatal"),
    ref("edac/ue", "EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0 (channel:2 slot:0 page:0x1 offset:0x0)",
        kind="memory_error", code="uncorrectable"),
    ref("edac/ce", "EDAC MC3: 1 CE memory scrubbing error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0 (channel:2 slot:0)",
        code="correctable", severity="warning"),
    ref("edac/boot-device", "EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0: DEV "
        "0000:7e:0c.0 (INTERRUPT)", None),
    ref("edac/boot-version", "EDAC MC: Ver: 3.0.0", None),
    ref("mce/logged", "mce: [Hardware Error]: Machine check events logged", kind="memory_error", code="mce:logged",
        severity="info"),
    ref("ghes/recoverable", "{1}[Hardware Error]: event severity: recoverable", code="uncorrectable"),
    ref("ghes/corrected", "{1}[Hardware Error]: event severity: corrected", code="correctable", severity="info"),
    ref("oom/cgroup-line", "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=pod7,mems_allowed=0-1,oom_memcg=/pod7,"
        "task_memcg=/pod7,task=python,pid=8123,uid=0", kind="host_oom", code="cgroup", pid=8123),
    ref("oom/host-line", "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/,task=python,pid=8123,uid=0", code="host", pid=8123),
    ref("oom/killed", "Out of memory: Killed process 8123 (python) total-vm:91kB, anon-rss:44kB, file-rss:0kB", code="host",
        detail_anon_kb="44"),
    ref("oom/old", "Out of memory: Kill process 8123 (python) score 50 or sacrifice child", code="host", pid=8123),
    ref("oom/memcg", "Memory cgroup out of memory: Killed process 8123 (python) total-vm:91kB, anon-rss:44kB", code="cgroup"),
    ref("segfault", "pt_main_thread[2536443]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in "
        "libnccl.so.2[7f7c7ac00000+d3d3000]", kind="segfault", pid=2536443, detail_library="libnccl.so.2"),
    ref("soft-lockup", "watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [pt_autograd_0:2289563]", kind="soft_lockup",
        value=27.0, pid=2289563),
    ref("hung-task", "INFO: task python3:8123 blocked for more than 120 seconds.", kind="hung_task", pid=8123),
    ref("peermem", "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        severity="info"),
)  # fmt: skip

_MT = "MTGPU:(Error):   512-  519: "

VENDORS: tuple[Ref, ...] = (
    ref("mthreads/mtml", "pymtml error: MTML_ERROR_GPU_IS_LOST", kind="gpu_lost", code="mtml:669"),
    ref("mthreads/fatal", "MTGPU:(Fatal):   512: Device status not OK! [1204]", code="mt:2002", pid=512),
    ref("mthreads/error-thread", f"{_MT}ECC fault GPU=0x00000001 FW=0x00000000 [1204]", code="mt:4001", pid=512),
    ref("mthreads/warn", "MTGPU:(Warn):    512: something odd [1204]", code="mt:unknown", severity="warning"),
    ref("mthreads/message", "MTGPU:(Mesg):    512: something usual [1204]", None),
    ref("mthreads/plain", "MTGPU:  512: MMU page fault detected (Core 0 MMU Status: 0x4)", code="mt:20001"),
    ref("mthreads/musa", "MUSA: 4711: MMU page fault detected (Core 0 MMU Status: 0x4)", code="mt:20001", pid=4711),
    ref("mthreads/p2p", "[MTGPU P2P][ERROR][mtgpu_p2p_map][88] map failed", kind="gpu_error"),
    ref("mthreads/dma", "[DMA][ERROR][dma_wait][88] wait failed", kind="gpu_error"),
    ref("mthreads/misc", "[MISC][ERROR][misc_read][88] read failed", kind="gpu_error"),
    ref("mthreads/board", "[BOARD][ERROR][board_read][88] read failed", kind="gpu_error"),
    ref("mthreads/link-up", "MTGPU: local link ID:2 link up", kind="link_up", detail_link=2),
    ref("mthreads/link-down", "MTGPU: local link ID:2 remote link ID:5 link down", kind="link_down", detail_remote=5),
    ref("mthreads/link-timeout", "MTGPU: lchip:0 llink:2 rchip:1 rlink:5 wait link up timeout", kind="link_down"),
    ref("mthreads/recovery", "MTGPU: mtlink recovery failed and the system needs to be restarted.", code="mt:1003"),
    ref("mthreads/lockup", f"{_MT}HWR: Lockup detected on DM2, FWCtx: 0x00000010", code="mt:3001"),
    ref("mthreads/guilty", f"{_MT}reset reason: Guilty Lockup", code="mt:3001", detail_role="guilty"),
    ref("mthreads/innocent", f"{_MT}reset reason: Innocent Lockup", detail_role="innocent", severity="warning"),
    ref("mthreads/overrun", f"{_MT}reset reason: Guilty Overrun", code="mt:3002"),
    ref("mthreads/recovered", "MTGPU: pcie mmio-regs access recovered!", kind="pcie_error", severity="info"),
    ref("mthreads/musa-oom", "RuntimeError: MUSA out of memory. Tried to allocate 2.00 GiB", kind="gpu_oom"),
    ref("metax/eid", "METAX.B10200.ATU.ERROR EID (0001:02:00.0): 0x2101, page fault at va 0x7f00", code="eid:0x2101",
        pci="0001:02:00.0", detail_unit="ATU"),
    ref("metax/eid-old", "METAX.B10200.ATU.ERROR page fault at va 0x7f00", code=None, pci="0001:02:00.0", severity="error"),
    ref("metax/eid-generic", "ERROR EID(0001:02:00.0): 0x110a,link abnormal,check cable,lane=3", code="eid:0x110a"),
    ref("metax/mxcd", "MXCD.B10200.PCIE.CRIT EID (0001:02:00.0): 0x1105, configuration check failed", severity="fatal"),
    ref("metax/mxgvm", "MXGVM.B10200.VF.WARN EID (0001:02:00.0): 0x1102, access refused", severity="warning"),
    ref("metax/info", "METAX.B10200.ATU.INFO probe done", None),
)  # fmt: skip

_Q = """==============NVSMI LOG==============

Timestamp                                 : Thu Mar 14 20:46:07 2024
Driver Version                            : 535.86.10
CUDA Version                              : 12.2

Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-1f0c
"""
_SRAM = """    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 0
        Aggregate
            SRAM Threshold Exceeded       : No
"""
_OLD_SRAM = """    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 3
"""
_VOLTA = """    ECC Errors
        Volatile
            Single Bit
                Device Memory             : 4
                Texture Shared            : N/A
            Double Bit
                Device Memory             : 1
"""
_ROWS = "    Remapped Rows\n        Correctable Error                 : 1\n        Pending                           : Yes\n"
_THROTTLE = "    Clocks Throttle Reasons\n        HW Slowdown                       : Active\n"
_REASONS = _THROTTLE.replace("Throttle", "Event   ")
_XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><driver_version>580.65.06</driver_version>
<gpu id="00000000:3B:00.0"><uuid>GPU-1f0c</uuid>
<ecc_errors><volatile><sram_uncorrectable_secded>2</sram_uncorrectable_secded></volatile>
<aggregate><sram_threshold_exceeded>No</sram_threshold_exceeded></aggregate>
<channel_repair_pending>No</channel_repair_pending></ecc_errors>
<remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>
<retired_pages><double_bit_retirement><retired_count>2</retired_count></double_bit_retirement></retired_pages>
<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>
<gpu_recovery_action>Drain and Reset</gpu_recovery_action></gpu></nvidia_smi_log>"""
_ECC = "ecc errors/volatile/"
_LINE = "_" * 44
_GMI = """Tue Jun 23 17:48:04 2026
---------------------------------------------------------------
    mthreads-gmi:2.4.1           Driver Version:5.1.0-server
---------------------------------------------------------------
ID   Name           |PCIe                |%GPU  Mem
     Device Type    |Pcie Lane Width     |Temp  MPC Capable
                                         |      ECC Mode
+-------------------------------------------------------------+
0    MTT S4000      |00000000:12:00.0    |0%    4MiB(49152MiB)
     Physical       |16x(16x)            |43C   YES
                                         |      On-die, EDC
"""
_MXSMI = """mx-smi  version: 2.1.12

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Mon Mar  9 14:23:48 2026

Attached GPUs                                     : 8
| MX-SMI 2.1.12                       Kernel Mode Driver Version: 2.12.13         |
| MACA Version: 2.29.0.19             BIOS Version: 1.20.3.0                      |
| 0           MetaX C500             | 0000:0e:00.0        | 0%                   |
| 35C         54W / 350W             | 826/65536 MiB       |                      |
"""

TOOLS: tuple[Ref, ...] = (
    ref("smi-q/535-sram", _Q + _SRAM, "devices", metric=_ECC + "sram uncorrectable sec-ded", value=2.0, pci="0000:3b:00.0"),
    ref("smi-q/535-threshold", _Q + _SRAM, "devices", metric="ecc errors/aggregate/sram threshold exceeded", value=0.0),
    ref("smi-q/older-sram", _Q + _OLD_SRAM, "devices", metric=_ECC + "sram uncorrectable", value=3.0),
    ref("smi-q/volta-tree", _Q + _VOLTA, "devices", metric=_ECC + "double bit/device memory", value=1.0),
    ref("smi-q/rows-pending", _Q + _ROWS, "devices", metric="remapped rows/pending", value=1.0),
    ref("smi-q/rows-none", _Q + "    Remapped Rows                         : N/A\n", "settings", name="driver",
        value="535.86.10"),
    ref("smi-q/throttle-before-535.54", _Q + _THROTTLE, "devices", metric="clocks event reasons/hw slowdown", value=1.0),
    ref("smi-q/event-reasons", _Q + _REASONS.replace("Event   ", "Event"), "devices",
        metric="clocks event reasons/hw slowdown", value=1.0),
    ref("smi-q/unknown-error", _Q + "    Fan Speed                             : Unknown Error\n", "devices",
        metric="fan speed", text="Unknown Error", value=None),
    *(
        ref(f"smi-xml/{metric.split('/')[-1]}", _XML, "devices", metric=metric, text=text, pci="0000:3b:00.0", path="q.xml")
        for metric, text in (
            ("ecc_errors/volatile/sram_uncorrectable_secded", "2"), ("ecc_errors/aggregate/sram_threshold_exceeded", "No"),
            ("remapped_rows/remapped_row_pending", "Yes"), ("gpu_reset_status/reset_required", "Yes"),
            ("retired_pages/double_bit_retirement/retired_count", "2"), ("gpu_recovery_action", "Drain and Reset"),
            ("ecc_errors/channel_repair_pending", "No"),
        )
    ),
    ref("smi-csv", "timestamp, index, pci.bus_id, uuid, temperature.gpu, power.draw [W], ecc.mode.current\n2025/02/27 "
        "15:10:02.113, 0, 00000000:3B:00.0, GPU-1f0c, 41, 311.20 W, Enabled", "devices", metric="power.draw", value=311.2,
        path="smi.csv"),
    ref("smi-csv/nounits", "index, uuid, temperature.gpu, memory.used [MiB]\n0, GPU-1f0c, 41, 1024", "devices",
        metric="memory.used", value=1024.0, path="smi.csv"),
    ref("smi-table", "| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |\n|   0  "
        "NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |\n| N/A   27C    P0             "
        "72W /  700W |    1024MiB /  81559MiB |      0%      Default |", "devices", metric="temperature", value=27.0,
        pci="0000:19:00.0"),
    ref("smi-nvlink", "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5269b708)\n         Link 0: 25 GB/s\n         Link 1: <inactive>",
        "devices", metric="nvlink/active", value=1.0),
    ref("dcgmi/new-header", "#Entity   GPUTL  POWER    TMPTR\nID               W        C\nGPU 0     75     185.300  41",
        "devices", metric="dcgm/power", value=185.3, device_index=0),
    ref("dcgmi/old-header", "# Entity  TENSO\n      Id\nGPU 0     0.75", "devices", metric="dcgm/tenso", value=0.75),
    ref("dcgmi/header-repeats", "#Entity   GPUTL  POWER\nID               W\nGPU 0     75     185.3\n#Entity   POWER  GPUTL\nID\n"
        "GPU 0     180.1  70", "devices", metric="dcgm/gputl", value=70.0),
    ref("dcgmi/xid-is-the-last-one", "#Entity   GPUTL  XID\nID\nGPU 0     75     94", "devices", metric="dcgm/xid", value=94.0),
    ref("bug-report/head", f"{_LINE}\n\nStart of NVIDIA bug report log file.\n\nnvidia-bug-report.sh Version: 34256399\n\nDate: Thu "
        f"Feb 27 15:22:41 UTC 2025\nuname: Linux gpu-017 5.15.0 #1 SMP x86_64\n{_LINE}\n\n*** "
        "/proc/driver/nvidia/version\n*** ls: -r--r--r-- 1 root root 0 x\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  "
        "550.90.07  Fri\n", "settings", name="driver", value="550.90.07", host="gpu-017", path="nvidia-bug-report.log"),
    ref("bug-report/cut", f"nvidia-bug-report.sh Version: 34256399\n{_LINE}\n\n*** dmesg\n{_XID_94}", code="bug_report:cut",
        path="nvidia-bug-report.log"),
    ref("bug-report/embedded-log", f"nvidia-bug-report.sh Version: 34256399\n{_LINE}\n\n*** dmesg\n{_XID_94}", **_94,
        path="nvidia-bug-report.log"),
    ref("mthreads-gmi/ecc", _GMI, "settings", name="ecc_mode", value="On-die, EDC"),
    ref("mthreads-gmi/ecc-off", _GMI.replace("On-die, EDC", "N/A"), "settings", name="ecc_mode", value="N/A"),
    ref("mthreads-gmi/device", _GMI, "devices", metric="temperature", value=43.0, pci="0000:12:00.0"),
    ref("mx-smi/table", _MXSMI, "devices", metric="power", value=54.0, pci="0000:0e:00.0"),
    ref("mx-smi/maca", _MXSMI, "settings", name="maca", value="2.29.0.19"),
    ref("ibstat", "CA 'mlx5_0'\n\tCA type: MT4129\n\tFirmware version: 28.39.1002\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: "
        "Polling\n\t\tRate: 400", "devices", metric="ib/mlx5_0/1/physical_state", text="Polling"),
    ref("ibstat/disabled", "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled", "devices",
        metric="ib/mlx5_0/1/state", value=0.0),
    ref("ibstatus", "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n\trate:\t\t "
        "200 Gb/sec (4X HDR)", "devices", metric="ib/mlx5_0/1/rate", value=200.0),
    ref("rdma-link", "link mlx5_0/1 state DOWN physical_state POLLING netdev ib0", "devices", metric="ib/mlx5_0/1/state",
        value=0.0),
    ref("prometheus/dcgm", '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1f0c",pci_bus_id='
        '"00000000:3B:00.0",Hostname="n1"} 41', "devices", metric="DCGM_FI_DEV_GPU_TEMP", value=41.0, host="n1"),
    ref("prometheus/xpu-timer", '# TYPE XPU_TIMER_COMMON_HANG gauge\nXPU_TIMER_COMMON_HANG{ip="10.0.0.1",job_name="j",'
        'local_rank="2",rank="2"} 1', kind="heartbeat_lost", rank=2),
)  # fmt: skip

ROWS: tuple[Ref, ...] = (*PREFIXES, *XID, *NIC, *PCI_AND_HOST, *VENDORS, *TOOLS)
