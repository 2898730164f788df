#!/bin/sh
# Gathers, on one node, what tells why a job hangs or is slow, and packs it into one archive.
#
#   sh gather.sh [-o DIR] [-w SECONDS] [-t SECONDS] [-m MEGABYTES] [-d PATH]... [-p PID]... [-n]
#
#   -o DIR   where the archive goes (default: here)
#   -w N     seconds from the first look to the second one (default 60): two looks show what moves and what does not
#   -t N     seconds that one step may take (default 20); a step that takes longer is left behind, and gather.log says so
#   -m N     megabytes kept of each end of a log (default 8), and 64 times as much of all other files together
#   -d PATH  one more file or folder to take along: logs, recorder dumps; may be repeated
#   -p PID   a process of the job, with its children; may be repeated. Without it: every process that has a rank in its
#            environment or holds an accelerator, with parents and children
#   -n       native stacks beside those of Python: gdb or pstack halt a process for about a second and let it go on
#
# It stops nothing, signals nothing but what it started itself, changes no setting, and asks the network only where a tool of
# the launcher (squeue, kubectl) does so. Where no py-spy is found, gdb or pstack are used as with -n. Values that look like
# secrets are masked. Read it before you run it. Run it on every node at about the same time, as the user of the job or as
# root; in Kubernetes in the pod or on the node. Then:
#
#   forensics analyze --hung forensics-*.tar.gz
set -u
export LC_ALL=C

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p;}' "$0"; }

out=. apart=60 most=20 megabytes=8 native='' extra='' asked=''
while getopts o:w:t:m:d:p:nh option; do
  case $option in
    o) out=$OPTARG ;;
    w) apart=$OPTARG ;;
    t) most=$OPTARG ;;
    m) megabytes=$OPTARG ;;
    d) extra="$extra
$OPTARG" ;;
    p) asked="$asked $OPTARG" ;;
    n) native=yes ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

host=$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)
name="forensics-${host%%.*}-$(date -u +%Y%m%dT%H%M%SZ)"
work=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
here="$work/$name/hosts/${host%%.*}"
mkdir -p "$out" "$here" "$work/env" || exit 1

say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >>"$here/gather.log"; }
has() { command -v "$1" >/dev/null 2>&1; }
nap() { sleep 0.1 2>/dev/null || sleep 1; }

# Names and forms of secrets become [masked]: in variables and options (A=…, --a …), JSON and addresses.
mask() {
  sed -E \
    -e 's/([A-Za-z0-9_.-]*([Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Pp][Aa][Ss][Ss]|[Cc][Rr][Ee][Dd]|[Aa][Uu][Tt][Hh]|[Cc][Oo][Oo][Kk][Ii][Ee]|[Hh][Oo][Oo][Kk]|[Dd][Ss][Nn])[A-Za-z0-9_.-]*["'\'']?[=:][[:space:]]*["'\'']?)[^[:space:]"'\'']+/\1[masked]/g' \
    -e 's/(--?[A-Za-z0-9_-]*([Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Pp][Aa][Ss][Ss]|[Cc][Rr][Ee][Dd])[A-Za-z0-9_-]*[[:space:]]+)[^-[:space:]][^[:space:]]*/\1[masked]/g' \
    -e 's/([Bb]earer|[Bb]asic) [A-Za-z0-9._~+\/=-]{8,}/\1 [masked]/g' \
    -e 's#(://[^:/@[:space:]]*:)[^@/[:space:]]+@#\1[masked]@#g' \
    -e 's/(hf_|gh[pousr]_|glpat-|sk-|xox[abeprs]-|AKIA|nvapi-)[A-Za-z0-9_-]{12,}/[masked]/g'
}

# within COMMAND…: runs it, for $most seconds at most, and fails where it took longer. What looks at a process that hangs in
# the kernel can hang there itself, beyond any signal: so nothing is waited for without an end. First a word, for a
# debugger must let its process go; then the end.
within() {
  "$@" &
  one=$!
  ends=$(($(date +%s) + most))
  while kill -0 "$one" 2>/dev/null; do
    if [ "$(date +%s)" -ge "$ends" ]; then
      say "took longer than $most s: $*"
      kill "$one" 2>/dev/null
      (sleep 3; kill -9 "$one") 2>/dev/null &
      return 1
    fi
    nap
  done
  wait "$one" 2>/dev/null
}

# keep FILE COMMAND…: what the command prints, masked, in FILE.
keep() {
  to="$here/$1"
  shift
  mkdir -p "${to%/*}"
  within "$@" >"$to.raw" 2>"$to.err" </dev/null
  mask <"$to.raw" >"$to"
  if [ ! -s "$to" ]; then
    if [ -s "$to.err" ]; then say "$*: $(head -n 1 "$to.err" | mask)"; fi
    rm -f "$to"
  fi
  rm -f "$to.raw" "$to.err"
}

# keep_by FILE TOOL …: the same, where there is such a tool.
keep_by() {
  if has "$2"; then keep "$@"; else say "not here: $2"; fi
}

# --- the processes of the job ----------------------------------------------------------------------------------------

# The state of a process by one letter, without a look into its memory: that can hang.
state_of() {
  read -r line 2>/dev/null <"/proc/$1/stat" || return 1
  line=${line##*) }
  echo "${line%% *}"
}

# What the environment of a process says, one variable a line, in a file of its own.
read_environment() {
  [ -e "$work/env/$1" ] && return 0
  case $(state_of "$1") in
    '' | Z) return 1 ;;
    D) within tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" >"$work/env/$1" ;;
    *) tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" >"$work/env/$1" ;;
  esac
}

# Every rank that a process was given, of whatever group.
ranks_of() { grep -E '^([A-Za-z_]+_)?(RANK|RANK_ID|PROCID)=[0-9]+$' "$work/env/$1" 2>/dev/null | sort; }

# The one of the job: RANK itself, else what a launcher calls so.
rank_of() {
  ranks_of "$1" | grep -vE '^[A-Za-z_]*(LOCAL|NODE|GROUP|ROLE)' | sed -E 's/^RANK=/ &/' | sort | sed -n '1s/.*=//p'
}

holds_accelerator() {
  for open in /proc/"$1"/fd/*; do
    case $(readlink "$open" 2>/dev/null) in
      /dev/nvidia[0-9]* | /dev/mtgpu* | /dev/mxcd* | /dev/kfd | /dev/davinci[0-9]*) return 0 ;;
    esac
  done
  return 1
}

is_python() { case $(readlink "/proc/$1/exe" 2>/dev/null) in *python*) ;; *) return 1 ;; esac; }
parent_of() { awk -v pid="$1" '$1 == pid { print $2 }' "$work/parents"; }
user_of() { awk -v pid="$1" '$1 == pid { print $3 }' "$work/parents"; }
children_of() { awk -v pid="$1" '$2 == pid { print $1 }' "$work/parents"; }
is_of_the_job() { grep -qx "$1" "$work/pids"; }

# Process numbers on standard input, and all below them.
with_children() {
  awk 'NR == FNR { up[$1] = $2; next } { is[$1] = 1 }
    END {
      do { grown = 0; for (pid in up) if (!(pid in is) && (up[pid] in is)) { is[pid] = 1; grown = 1 } } while (grown)
      for (pid in is) if (pid in up) print pid
    }' "$work/parents" -
}

# gather.sh, what started it, and what it started
own() {
  pid=$$
  echo "$pid" | with_children
  while [ "${pid:-0}" -gt 1 ]; do
    echo "$pid"
    pid=$(parent_of "$pid")
  done
}

find_processes() {
  ps -eo pid=,ppid=,uid= >"$work/parents"
  own | sort -u >"$work/own"
  while read -r pid parent user; do
    if grep -qx "$pid" "$work/own" || ! read_environment "$pid"; then continue; fi
    if [ -n "$asked" ]; then
      if is_in "$pid" "$asked" || { is_in "$parent" "$asked" && [ -z "$(ranks_of "$parent")" ]; }; then echo "$pid"; fi
    elif [ -n "$(ranks_of "$pid")" ] || holds_accelerator "$pid"; then
      echo "$pid"
      # its launcher, where that runs for the same user
      if [ "$parent" -gt 1 ] && [ "$(user_of "$parent")" = "$user" ]; then echo "$parent"; fi
    fi
  done <"$work/parents" | sort -nu | grep -vxF -f "$work/own" >"$work/pids"
}

is_in() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }

# A name for the files of each process. A launcher has children of other ranks, and none itself; a child with the ranks of its
# parent is its parent's helper, and is looked at with it; a shell is no rank.
name_processes() {
  : >"$work/processes"
  echo 'host,rank,local_rank,pid' >"$here/processes.csv"
  while read -r pid; do
    read_environment "$pid" || continue
    if is_helper "$pid" "$(parent_of "$pid")"; then continue; fi
    rank=$(rank_of "$pid")
    if [ -n "$rank" ] && ! leads_others "$pid" && { is_python "$pid" || holds_accelerator "$pid"; }; then
      echo "$pid rank${rank}_pid$pid" >>"$work/processes"
      echo "${host%%.*},$rank,$(sed -n 's/^LOCAL_RANK=//p' "$work/env/$pid"),$pid" >>"$here/processes.csv"
    else
      echo "$pid pid$pid" >>"$work/processes"
    fi
  done <"$work/pids"
}

is_helper() {
  is_of_the_job "${2:-0}" && ! leads_others "$2" && is_python "$2" && [ "$(ranks_of "$1")" = "$(ranks_of "$2")" ] &&
    ! is_in "$2" "$asked"
}

leads_others() {
  for child in $(children_of "$1"); do
    if [ -s "$work/env/$child" ] && [ -n "$(ranks_of "$child")" ] && [ "$(ranks_of "$child")" != "$(ranks_of "$1")" ]; then
      return 0
    fi
  done
  return 1
}

# --- one look: what may have moved when it is repeated --------------------------------------------------------------

cmdline_of() { tr '\0' ' ' <"/proc/$1/cmdline"; }

# py-spy lies beside the Python of the process, where its programs lie, or here.
py_spy_of() {
  keep "environment/$2.cmdline" cmdline_of "$1"
  python=$(cut -d ' ' -f 1 "$here/environment/$2.cmdline" 2>/dev/null)
  for folder in "${python%/*}" $(sed -n 's/^PATH=//p' "$work/env/$1" 2>/dev/null | tr ':' ' '); do
    if [ -x "$folder/py-spy" ]; then echo "$folder/py-spy"; return; fi
  done
  command -v py-spy
}

keep_stack() {
  pid=$1 label=$2 state=$(state_of "$1")
  keep "$look/kernel_stacks/$label.txt" cat "/proc/$pid/stack"
  keep "$look/states/$label.txt" grep -hE '^(Name|State|Pid|PPid|Threads|VmRSS|[a-z]*voluntary_ctxt)' "/proc/$pid/status"
  spy=$(py_spy_of "$pid" "$label")
  if [ -n "$spy" ] && is_python "$pid"; then
    if leads_others "$pid"; then
      keep "$look/stacks/$label.py-spy.txt" "$spy" dump --nonblocking --pid "$pid"
    else
      keep "$look/stacks/$label.py-spy.txt" "$spy" dump --nonblocking --subprocesses --pid "$pid"
    fi
  fi
  # A debugger asks a process to halt. One that waits in the kernel would halt later, when nobody lets it go on.
  if [ "$state" != D ] && { [ -n "$native" ] || { [ ! -s "$here/$look/stacks/$label.py-spy.txt" ] && is_python "$pid"; }; }; then
    if has gdb; then
      keep "$look/stacks/$label.gdb.txt" gdb -p "$pid" -batch -nx -ex 'set pagination off' -ex 'thread apply all bt'
    elif has pstack; then
      keep "$look/stacks/$label.pstack.txt" pstack "$pid"
    fi
  fi
}

counters() {
  for port in /sys/class/infiniband/*/ports/*; do
    [ -d "$port" ] || continue
    echo "## $port $(cat "$port/state" 2>/dev/null) $(cat "$port/rate" 2>/dev/null)"
    for counter in "$port"/counters/* "$port"/hw_counters/*; do
      if [ -r "$counter" ]; then echo "${counter##*/}: $(cat "$counter" 2>/dev/null)"; fi
    done
  done
}

keep_devices() {
  if has nvidia-smi; then
    keep "$look/devices/nvidia-smi-q.txt" nvidia-smi -q
    keep "$look/devices/nvidia-smi.txt" nvidia-smi
    keep "$look/devices/nvlink-errors.txt" nvidia-smi nvlink -e
  fi
  if has mthreads-gmi; then keep "$look/devices/mthreads-gmi.txt" mthreads-gmi -q; fi
  if has mx-smi; then
    keep "$look/devices/mx-smi.txt" mx-smi
    keep "$look/devices/mx-smi-links.txt" mx-smi mxlk --show-state
  fi
  if has amd-smi; then
    keep "$look/devices/amd-smi-metric.txt" amd-smi metric
    keep "$look/devices/amd-smi-process.txt" amd-smi process
  elif has rocm-smi; then
    keep "$look/devices/rocm-smi.txt" rocm-smi -a
  fi
  if has npu-smi; then keep "$look/devices/npu-smi.txt" npu-smi info; fi
}

take_a_look() {
  look=$1
  say "$look begins"
  running=0
  while read -r pid label; do
    if [ ! -d "/proc/$pid" ]; then say "gone: $label"; continue; fi
    keep_stack "$pid" "$label" &
    running=$((running + 1))
    if [ "$running" -ge "$processors" ]; then wait; running=0; fi
  done <"$work/processes"
  wait
  # Command lines of the job alone: another job's on this node are nobody's business, and name ranks of their own.
  keep "$look/ps.txt" ps -ww -o pid,ppid,stat,wchan:32,etimes,pcpu,rss,user,args -p "$(with_children <"$work/pids" | paste -sd , -)"
  keep "$look/ps_of_all.txt" ps -eo pid,ppid,stat,wchan:32,etimes,pcpu,rss,user,comm
  keep_devices
  keep "$look/network/ib_counters.txt" counters
  keep_by "$look/network/ip-s-link.txt" ip -s link
  keep_by "$look/network/ss.txt" ss -tinp
  keep_by "$look/nccl_ras.txt" ncclras -v
  say "$look ends"
}

# --- what is looked at once -----------------------------------------------------------------------------------------

# The beginning and the end of a long file, in whole lines.
ends_of() {
  bytes=$((megabytes * 1024 * 1024)) size=$(wc -c <"$1")
  if [ "$size" -le $((2 * bytes)) ]; then
    cat "$1"
  else
    head -c "$bytes" "$1" | sed '$d'
    echo "[gather.sh left out the middle of $size bytes]"
    tail -c "$bytes" "$1" | sed 1d
  fi
}

room=$((megabytes * 64)) # megabytes that are left for files which are no logs
# take FILE…: a text in its ends and masked, anything else whole, each once. Files lie below `files` as on the node.
take() {
  for file in "$@"; do
    if [ ! -f "$file" ] || [ ! -r "$file" ]; then continue; fi
    grep -qxF "$file" "$work/taken" && continue
    echo "$file" >>"$work/taken"
    if [ ! -s "$file" ]; then continue; fi
    if head -c 65536 "$file" | LC_ALL=C grep -q '[^[:print:][:space:][:cntrl:]]' || head -c 4096 "$file" | od -An -v -tx1 | grep -q ' 00'; then
      needs=$(($(wc -c <"$file") / 1048576 + 1))
      if [ "$needs" -gt "$room" ]; then say "left out, too large: $file"; continue; fi
      room=$((room - needs))
      mkdir -p "$here/files${file%/*}"
      if ! within cp "$file" "$here/files$file" 2>/dev/null; then say "cannot read: $file"; fi
    else
      keep "files$file" ends_of "$file"
    fi
  done
}

# A recorder writes behind a prefix, or into a folder, that a variable names; through its pipe it is asked for a dump now.
take_dumps() {
  sed -n -E 's/^[A-Z_]*PIPE_FILE=(\/.+)$/\1/p' "$work/env/$1" | while read -r prefix; do
    pipe="$prefix$(rank_of "$1").pipe"
    if [ -p "$pipe" ]; then (printf 1 >"$pipe") 2>/dev/null & sleep 2; kill $! 2>/dev/null; fi
  done
  sed -n -E 's/^[A-Z_]*(DUMP|DEBUG|LOG|TRACE|SAVE)[A-Z_]*(FILE|PATH|DIR)=(\/.+)$/\3/p' "$work/env/$1" | sort -u |
    while read -r prefix; do
      prefix=${prefix%%%*}
      if [ -d "$prefix" ]; then find "$prefix" -type f -mtime -2 2>/dev/null | head -n 512; else printf '%s\n' "$prefix"*; fi
    done >"$work/dumps"
  while read -r file; do take "$file"; done <"$work/dumps"
}

take_process() {
  pid=$1 label=$2
  keep "environment/$label.env" cat "$work/env/$pid"
  for open in /proc/"$pid"/fd/*; do
    file=$(readlink "$open" 2>/dev/null) || continue
    case $file in /dev/* | /proc/* | /sys/* | *' (deleted)') continue ;; /*) ;; *) continue ;; esac
    # what it writes to, its logs
    if grep -qE '^flags:.*[12]$' "/proc/$pid/fdinfo/${open##*/}" 2>/dev/null; then take "$file"; fi
  done
  take_dumps "$pid"
}

take_extra() {
  printf '%s\n' "$extra" | while read -r place; do
    if [ -n "$place" ]; then find "$(cd "$(dirname "$place")" && pwd)/$(basename "$place")" -type f; fi
  done >"$work/extra" 2>/dev/null
  while read -r file; do take "$file"; done <"$work/extra"
}

take_host() {
  {
    echo "HOSTNAME=$host"
    echo "boot_id=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
    echo "uptime=$(cat /proc/uptime 2>/dev/null)"
    echo "kernel=$(uname -a)"
  } >"$here/host.env"
  if dmesg >/dev/null 2>&1; then
    keep kernel/dmesg.txt dmesg -T
  else
    keep_by kernel/journal.txt journalctl -k -o short-iso --no-pager -n 20000
  fi
  for file in /var/log/messages /var/log/syslog /var/log/kern.log; do
    if [ -r "$file" ]; then keep "kernel/${file##*/}" tail -n 20000 "$file"; fi
  done
  keep_by network/ibstat.txt ibstat
  keep_by network/ip-addr.txt ip addr
  keep_by host/lspci.txt lspci -vv
  keep_by host/df.txt df -h
  keep host/meminfo.txt cat /proc/meminfo
  if has nvidia-smi; then keep devices/topology.txt nvidia-smi topo -m; fi
}

take_launcher() {
  job=$(cat "$work"/env/* 2>/dev/null | sed -n 's/^SLURM_JOB_ID=//p' | head -n 1)
  if [ -n "$job" ]; then
    keep_by launcher/scontrol.txt scontrol show job "$job"
    keep_by launcher/sacct.txt sacct -j "$job" -P -o JobID,JobName,State,ExitCode,DerivedExitCode,Start,End,NodeList,Reason
    keep_by launcher/sinfo.txt sinfo -N -l
  fi
  if [ -d /var/run/secrets/kubernetes.io ]; then
    keep_by launcher/pod.txt kubectl describe pod "$host"
    keep_by launcher/events.txt kubectl get events --sort-by=.lastTimestamp
  fi
  find -L "${RAY_TMPDIR:-/tmp/ray}/session_latest/logs" -maxdepth 1 -type f 2>/dev/null | head -n 512 >"$work/ray"
  while read -r file; do take "$file"; done <"$work/ray"
}

# --- the way -----------------------------------------------------------------------------------------------------------

say "gather.sh on $host, as $(id -un), looks $apart s apart, $most s a step"
: >"$work/taken"
find_processes
name_processes
say "$(wc -l <"$work/processes") processes"
if [ ! -s "$work/processes" ]; then
  echo "gather.sh: no process has a rank in its environment or holds an accelerator; -p PID names one" >&2
fi

processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 4)
began=$(date +%s)
take_a_look look_1
while read -r pid label; do take_process "$pid" "$label"; done <"$work/processes"
take_extra
take_host
take_launcher
left=$((began + apart - $(date +%s)))
if [ "$left" -gt 0 ]; then sleep "$left"; fi
take_a_look look_2

archive="$out/$name.tar.gz"
tar -C "$work" -czf "$archive" "$name" || exit 1
echo "$archive"
