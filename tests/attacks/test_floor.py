"""The floor: what each family covers at least, so that a case that goes missing is noticed.

Each line is one thing that a family must attack (or a neighbour that it must accept), and globs over the variants that do; every
glob must match. In a glob ``RW`` stands for both directions, ``{a,b}`` for either word, and ``*`` for anything.
"""

from __future__ import annotations

import re

import pytest

from epctx.case import Case

NAMES = {
    "empty, NULL": "names/absent[RW,{empty,null},{model,caller}]",
    "`.`": "names/RW-directory[dot]",
    "`./`": "names/RW-directory[dot-slash]",
    "`..`": "names/parent-itself[RW,dot-dot]",
    "`../`": "names/parent-itself[RW,dot-dot-slash]",
    "`sub/`": "names/RW-directory[trailing-slash]",
    "`sub/.`": "names/RW-directory[trailing-dot]",
    "`sub/..`": "names/RW-directory[dot-dot-inside]",
    "trailing `//`": "names/RW-directory[trailing-slashes]",
    "file used as a directory": "names/RW-file-as-directory[child]",
    "interior `//`": "names/spelling[RW,interior-slashes]",
    "`./a/./f` is accepted": "names/spelling[RW,{dot,interior-dot,both}]",
    "leading and trailing space": "names/literal[RW,{leading,trailing}-space] names/white-space-is-not-trimmed[*]",
    "newline, CR, TAB, ESC": "names/literal[RW,{newline,carriage-return,tab,escape}] names/control-characters-in-errors[*]",
    "NUL after a name inside": "names/embedded-nul[escape-behind]",
    "NUL after a name outside": "names/embedded-nul[escape-before]",
    "`~`, `~user`": "names/expansion-finds-nothing[{home,home-user}] names/expansion-is-literal[RW,{home,home-user}]",
    "`$HOME`": "names/expansion-finds-nothing[variable] names/expansion-is-literal[RW,variable]",
    "`%VAR%`": "names/expansion-finds-nothing[windows-variable] names/expansion-is-literal[RW,windows-variable]",
    "globs": "names/expansion-finds-nothing[{star,question,class}] names/expansion-is-literal[RW,{star,question,class}]",
    "URLs": "names/encoded-escape-read[file-url] names/expansion-finds-nothing[http-url] names/expansion-is-literal[RW,http-url]",
    "`\\\\?\\x` is literal on POSIX": "absolute/rooted-on-windows[RW,long-only]",
    "percent-encoding": "names/encoded-escape-read[percent-*] names/encoded-name-exists[RW,percent]",
    "overlong UTF-8": "names/encoded-escape-read[overlong-dot] names/undecodable[RW,overlong]",
    "lone surrogate, 0xFF": "names/undecodable[RW,{surrogate,byte-ff}]",
    "fullwidth dot and slash": "names/encoded-escape-read[fullwidth-{dot,slash}] names/encoded-name-exists[RW,fullwidth-*]",
    "U+2024, U+2215": "names/encoded-escape-read[{leader-dots,division-slash}] names/encoded-name-exists[RW,leader-dots]",
    "right-to-left, zero width": "names/literal[RW,{right-to-left,zero-width}] names/encoded-escape-read[zero-width]",
    "backslash on POSIX": "names/encoded-name-exists[RW,backslash] names/encoded-escape-read[backslash]",
    "`..\\/x`": "names/encoded-name-exists[RW,backslash-slash] names/encoded-escape-read[backslash-slash]",
    "component of 255 bytes": "names/long-component[RW,255]",
    "component of 256, 500 bytes": "names/component-too-long[RW,{256,500}]",
    "path of 4095, 4096, 65,536, 1 Mi bytes": "names/path-too-long[RW,{4095,4096,65536,1048576}]",
    "4,096 nested components": "names/many-components[RW]",
    "names that start with dots": "names/literal[RW,{dots-first,three-dots,dots-inside}]",
    "the model file itsel": "names/model-itself[plain] field/output-is-the-model[plain]",
    "dotfiles": "names/literal[RW,dotfile]",
    "name equal in case only": "names/case-is-not-folded[*] names/case-tells-apart[RW,upper]",
}

TRAVERSAL = {
    "`../x`, depth 0 to 3": "traversal/climb[RW,{0,1,2,3},{file,empty}] traversal/climb[write,{0,1,2,3},absent]",
    "missing directory then `..`": "traversal/climb-through-missing[RW,{1,2,3}] traversal/climb-after-odd-component[*,missing]",
    "`a/../b` is accepted": "traversal/round-trip[RW,{1,2,3},file] traversal/round-trip[write,1,absent]",
    "leave and enter again": "traversal/reentry[RW,{nested,below-first}] traversal/reentry-new-file[*]",
    "`a/../../model/f`": "traversal/reentry[RW,below-first]",
    "long chain to `/`": "traversal/climb-to-the-top[RW,40] traversal/reentry[RW,from-the-top]",
    "sibling with the prefix": "traversal/sibling[RW,{prefix,dotted,letter}] traversal/sibling-new[*]",
    "`..` after a missing, dangling and file component": "traversal/climb-after-odd-component[RW,{missing,dangling,file}]",
    "each storage of the model": "traversal/{inside,outside}-by-storage[RW,{absolute,bare,relative,linked},plain]",
    "odd model paths": "traversal/{inside,outside}-by-storage[RW,{dot-dot,double-slash,trailing-slash},plain]",
    "new files with each storage": "traversal/new-file-by-storage[{absolute,bare,relative,linked,dot-dot},plain]",
    "new files outside": "traversal/new-file-outside-by-storage[{absolute,bare,relative,linked,dot-dot}]",
    "model from memory": "traversal/model-from-memory[RW,plain] traversal/model-from-memory-new-file[*]",
    "trusted callers": "traversal/trusted[RW,parent] traversal/trusted-new-file[parent]",
}

ABSOLUTE = {
    "`/x` of the world": "absolute/outside[RW,plain,file] absolute/outside[write,plain,absent]",
    "a path inside the model directory": "absolute/inside[RW,plain] absolute/inside-new-file[plain]",
    "`//x`, `///x`, `/./x`, `/../x`": "absolute/outside[RW,{two-slashes,three-slashes,dot,parent},file]",
    "drives": "absolute/rooted-on-windows[RW,{drive,drive-relative,root-relative,unc}]",
    "shares": "absolute/share-with-slashes[RW,host]",
    "device paths": "absolute/rooted-on-windows[RW,{long,device,nt,volume}]",
    "trusted callers": "absolute/trusted[RW,plain] absolute/trusted-new-file[outside]",
    "each storage of the model": "absolute/outside-by-storage[RW,{bare,relative,memory}]",
}

LINKS = {
    "final link outside": "links/final-outside[RW,{relative,absolute}] links/final-outside-deep[RW,{1,2,3}]",
    "directory link": "links/directory-outside[RW,{relative,absolute},file] links/directory-outside[write,relative,absent]",
    "link to `..`, `../../`": "links/directory-by-text[RW,{parent,grandparent}]",
    "link to `.`, `dir/`, `dir/.`": "links/directory-by-text[RW,{self-then-out,outside-slash,outside-dot}]"
    " links/inside[RW,{self,directory-slash,directory-dot}]",
    "chain inside": "links/chain-inside[RW,{1,2,5,30},{file,directory}]",
    "chain whose last hop leaves": "links/chain-outside[RW,{2,5,30},{file,directory}]",
    "`link/../x`": "links/directory-then-parent[RW,{inside,absent}] links/directory-then-parent-inside[RW]",
    "`..` in front, within, beyond": "links/final-outside[RW,{relative,middle,beyond}] links/directory-by-text[RW,outside-dots]",
    "link to the base and back in": "links/inside[RW,base-absolute] links/inside[RW,out-and-in]",
    "loops of one, two and six": "links/loop[RW,{1,2,6},{final,directory}]",
    "40 and 41 hops": "links/chain-at-the-limit[RW] links/chain-beyond-the-limit[RW,41,*]",
    "dangling lea": "links/dangling-leaf-write[{outside,inside},{model,caller}] links/dangling-leaf-read[{outside,inside},1]",
    "dangling chain": "links/dangling-chain-write[*] links/dangling-leaf-read[outside,3]",
    "dangling parent component": "links/dangling-directory[RW,{outside,inside}]",
    "dangling through a file": "links/dangling-directory[RW,through-file] links/dangling-leaf-write[through-file,model]",
    "trailing slash on a link": "links/trailing-slash-{outside,file-outside}[RW,slash] links/trailing-slash-file-inside[slash]",
    "hard link outside": "links/hard-outside[RW,flat]",
    "hard link of a link": "links/hard-link-of-link-outside[RW]",
    "hard link with all names inside": "links/hard-inside[RW,second]",
    "base directory is a link": "links/base-is-a-link[RW,{relative,absolute},plain] links/base-is-a-link-new-file",
    "model file is a link": "links/model-is-a-link-data-beside-link[RW] links/model-is-a-link-data-beside-target",
    "data is a link into the cache": "links/data-is-a-link-into-cache[RW]",
    "/proc/self/cwd, /proc/self/root": "links/magic-link[RW,{cwd,root}]",
    "descriptors": "links/device-link[RW,{proc-fd,dev-fd,stdin}]",
    "bind mounts": "links/bind-mount[RW,{directory,file}]",
}

TYPES = {
    "directory": "types/directory-RW[{empty,full},{model,caller}]",
    "FIFO": "types/special-RW[{fifo,fifo-with-writer}]",
    "socket": "types/special-RW[socket]",
    "character devices": "types/special-RW[{null,zero,full,tty}]",
    "block device, whiteout": "types/special-RW[{block,whiteout}]",
    "trusted callers": "types/special-trusted[RW,*]",
    "file of mode 000": "types/unreadable-file[{model,caller}]",
    "directory without r or x": "types/closed-directory[RW,nothing] types/unlisted-directory",
    "read-only file": "types/read-only-file-{read,write[file]}",
    "read-only mount": "types/read-only-mount-write",
    "append-only, immutable": "types/attribute-RW[{append-only,immutable}]",
    "missing": "types/missing-read[plain,{model,caller}]",
    "missing parent": "types/missing-parent[{one,two},{model,caller}]",
}

SIZES = {
    "each size read": "sizes/read-exact[{1,1023,1024,1025,4095,4096,4097,65535,65536,1048576}] sizes/read-empty[*]",
    "each size written": "sizes/write-exact[{1,1023,1024,1025,4095,4096,4097,65535,65536,1048576}] sizes/write-empty[*,new]",
    "64 MiB": "sizes/RW-64-mib",
    "above 2 GiB": "sizes/read-beyond-2-gib",
    "1 TiB": "sizes/read-1-tib[{model,caller},*]",
    "hole and data": "sizes/read-hole-then-data[*]",
    "shorter and longer than before": "sizes/replaced[{longer,shorter,same}]",
    "grows, shrinks, is cut to 0": "sizes/changes-while-read[{0,half,double},direct]",
    "full file system": "sizes/full-disk[{1,1023,1024,1025,4095,4096,4097,65535,65536,1048576}]",
    "file size limit": "sizes/file-size-limit[{1,1023,1024,1025,4095,4096,4097,65535,65536,1048576},{new,existing}]",
    "/dev/full": "types/special-write[full]",
    "old content kept": "sizes/failed-write-keeps-old-file[*]",
    "a created file, for its mode": "control/write-new-file",
}

WINDOWS = {
    "devices": "platform-windows/device{,-lower-case}[{con,prn,aux,nul,com0,com9,lpt0,lpt9,conin,conout}]",
    "superscript digits": "platform-windows/device[{com,lpt}-superscript-{one,two,three}]",
    "suffixes, as a directory": "platform-windows/device-with-suffix[RW,con,{extension,directory}]",
    "streams": "platform-windows/stream[RW,{named,data}]",
    "short names": "platform-windows/short-name[RW,file] platform-windows/short-name-finds-nothing[file]",
    "trailing dots and spaces": "platform-windows/trailing[RW,{dot,space}] platform-windows/trailing-is-not-dropped[*]",
    "mixed separators": "platform-windows/mixed-separators[RW,*] platform-windows/backslash[RW,mixed]",
    "case variants": "platform-windows/case-variant[*]",
    "junctions": "platform-windows/junction[RW,slash]",
    "long paths": "platform-windows/long-path[RW,260]",
    "surrogates": "platform-windows/surrogate[RW,{high,low}]",
}

MACOS = {
    "case folding": "platform-macos/case-folding-tells-apart[RW,upper] platform-macos/case-folding-finds-nothing[upper]",
    "NFC and NFD": "platform-macos/normal-forms-tell-apart[RW,{nfc,nfd}] platform-macos/normal-form-is-kept[{nfc,nfd}]",
    "named forks": "platform-macos/named-fork[resource] platform-macos/named-fork-is-literal[RW,resource]",
    "firmlinks, /private/tmp": "platform-macos/private-tmp[RW,{link,real},plain] platform-macos/firmlink[RW]",
    "ignorable code points": "platform-macos/ignorable-hides-parent[*,between] platform-macos/ignorable-tells-apart[RW,*]",
}

MODELS = {
    "embed_mode absent, 1": "models/embedded-is-the-default models/embedded[relative]",
    "embed_mode 2, negative, string, list": "models/malformed[embed-mode-{2,negative,text,list},{inside,outside}]",
    "context absent, empty": "models/missing-attributes[context] models/attribute-bytes[empty]",
    "context of another type": "models/malformed-context[{number,list,doubled}]",
    "64 KiB, undecodable, NUL": "models/attribute-bytes[{64-kib,undecodable,nul-after,nul-before}]",
    "main_context 0 without a main one": "models/malformed[main-context-0-alone,outside]",
    "two main nodes": "models/second-main-node[inside,*]",
    "nodes that share a name": "models/shared-name[*]",
    "source absent, foreign, huge": "models/optional-attributes[source] models/malformed[source-{foreign,huge},outside]",
    "unknown attributes": "models/extra-attribute[unknown]",
    "a path embedded, bytes external": "models/embedded[{relative,absolute}] models/attribute-bytes[undecodable]",
    "model from memory": "models/from-memory[*] models/from-memory-with-callback[*]",
}

CALLBACKS = {
    "names verbatim": "callbacks/verbatim[RW,{plain,parent,absolute,space,utf-8,control,newline,undecodable,4097}]",
    "model from memory": "callbacks/model-from-memory[RW,plain]",
    "allocator gives NULL, a status": "callbacks/allocator-fails[{null,error},{callback,file},96]",
    "64 MiB": "callbacks/adopts-64-mib sizes/read-64-mib",
    "same name twice": "callbacks/read-three-times[{callback,file}]",
    "output held data": "callbacks/replaces-output[{callback,file}]",
    "moved, self-moved, reassigned": "callbacks/moves[{callback,file,empty-file},{fresh,held}]",
    "a caller's allocator": "callbacks/caller-allocator[{callback,file},96]",
    "fallback name unused, empty, hostile": "callbacks/fallback-{unused,empty,is-a-path}[*]",
    "logical name": "callbacks/logical-name-is-not-a-path[{parent,absolute},new]",
    "NULL and size": "callbacks/null-with-size[{1,2-63},{fresh,held}]",
    "NULL and 0, buffer and 0": "callbacks/empty-payload[{null,empty-buffer,unused-buffer},{fresh,held}]",
    "allocate then fail": "callbacks/allocates-then-fails[{0,96},{default,caller},{fresh,held}]",
    "fail with size set": "callbacks/fails-with-size[{1,2-40},{fresh,held}]",
    "each error code": "callbacks/every-code-comes-back[RW,{1,2,3,4,5,6,7,8,9,10,11}]",
    "empty, long, non-UTF-8 text": "callbacks/text-comes-back-verbatim[RW,{empty,long,undecodable}]",
    "size smaller than allocated": "callbacks/buffer-larger-than-data[*]",
    "size larger than allocated": "callbacks/buffer-smaller-than-its-size[{97,4096}]",
    "callback and file, FIFO, link out": "callbacks/file-is-left-alone[RW,{existing,fifo,link-outside,outside}]",
    "callback fails and the file is there": "callbacks/failure-is-not-a-reason-for-a-file[RW,{existing,fifo,absent}]",
    "no sidecar": "callbacks/failure-is-not-a-reason-for-the-fallback[{new,existing}]",
    "state": "callbacks/state[RW] callbacks/state-in-turns callbacks/null-state[RW,*]",
    "write NULL with size, with 0": "callbacks/null-payload-with-size[96,{callback,file}] callbacks/null-payload-without-size[*]",
    "only one direction": "callbacks/only-the-other-callback[RW,{model,caller},existing]",
    "no callback": "callbacks/without-{config,callbacks}[RW,*]",
    "late callbacks": "callbacks/nothing-comes-late[RW,*]",
}

CHUNKING = {
    "whole payload once per name": "chunking/whole-payload[{0,1,1024,4097,65537}]",
    "several names": "chunking/several-names[*]",
    "same name twice": "chunking/same-name-twice[{shorter,longer}]",
    "huge payload": "chunking/payload-of-64-mib",
    "interleaved names": "chunking/names-in-turns[{before,after}]",
    "no further piece after an error": "chunking/nothing-follows-an-error[*]",
}

PLAINTEXT = {
    "small and large": "plaintext/sizes[RW,{32,4096,65536,1048576,8388608}]",
    "a callback fails": "plaintext/write-not-taken[{32,4096,65536,1048576,8388608}] plaintext/read-fails[{new,existing}]",
    "working directories": "plaintext/working-directory[RW,{root,model,outside}]",
    "model from memory": "plaintext/model-from-memory[RW]",
    "a file of the name": "plaintext/file-exists[RW] plaintext/fallback-name[{new,existing,outside}]",
    "trusted callers, nodes, several calls": "plaintext/trusted-caller[RW] plaintext/node-of-a-model plaintext/several[RW]",
}

RACES = {
    "directory and link, file and link": "races/exchange[RW,{directory,file}-and-link]",
    "file and FIFO": "races/file-and-fifo[RW]",
    "file and directory": "races/file-and-directory",
    "a parent moves": "races/parent-moves{,-outside}*",
    "unlink and create": "races/file-goes-and-link-comes",
    "target becomes a link": "races/target-{becomes-dangling,appears-as}-link",
    "model directory moved, replaced, removed": "races/model-directory-is-replaced[RW]",
    "working directory changed by another thread": "races/working-directory-changes",
}

FIELD = {
    "content store": "field/linked-model-and-{linked,plain}-data[RW,{flat,nested}]",
    "compiled here, loaded there": "field/directory-is-not-baked-in[RW,*] field/written-then-loaded[*]",
    "absolute inside": "field/absolute-inside[RW,*]",
    "first component missing": "field/missing-first-component-back[RW,existing] field/missing-first-component-out[RW,escape]",
    "percent-encoded once and twice": "field/percent-encoded[{once,twice}]",
    "sibling with the prefix": "field/version-with-prefix[RW,*]",
    "normalised, not resolved": "field/normalised-but-not-resolved[RW]",
    "output is a directory, exists, is the model": "field/output-{is-a-directory,exists,is-the-model}[*]",
}

THREADS = {
    "N x M readers over one and many configs": "threads/by-callback[read,*,{one,each}]",
    "N x M readers of files": "threads/read-files[{2x2,4x4,4x16,8x3}]",
    "writers": "threads/by-callback[write,*,{one,each}] threads/write-files[*,{new,existing}]",
    "readers and writers at once": "threads/readers-and-writers[{callbacks,files}] threads/one-name-both-ways",
    "barrier inside the callback": "threads/barrier[RW,{2,4}] threads/barrier-between-directions",
    "re-entry": "threads/reentry[RW,{same,other}] threads/reentry-from-all-threads[RW]",
    "read within write": "threads/reentry-other-way[write,{callback,file}]",
    "a callback that blocks while something else goes on": "threads/file-while-a-callback-waits",
}

FLOOR = {
    f"{family}: {what}": globs
    for family, table in {
        "names": NAMES,
        "traversal": TRAVERSAL,
        "absolute": ABSOLUTE,
        "links": LINKS,
        "types": TYPES,
        "sizes": SIZES,
        "windows": WINDOWS,
        "macos": MACOS,
        "models": MODELS,
        "callbacks": CALLBACKS,
        "plaintext": PLAINTEXT,
        "chunking": CHUNKING,
        "races": RACES,
        "threads": THREADS,
        "field": FIELD,
    }.items()
    for what, globs in table.items()
}


def spread(glob: str) -> list[str]:
    """The globs without braces that ``glob`` stands for."""
    before, brace, after = glob.replace("RW", "{read,write}").partition("{")
    if not brace:
        return [glob]
    words, _, after = after.partition("}")
    return [before + word + one for word in words.split(",") for one in spread(after)]


def matches(glob: str, ids: set[str]) -> bool:
    """Whether an id fits a glob, in which only ``*`` is special."""
    pattern = re.compile(".*".join(map(re.escape, glob.split("*"))))
    return any(pattern.fullmatch(id_) for id_ in ids)


@pytest.fixture(scope="session")
def ids(cases: list[Case]) -> set[str]:
    return {case.id for case in cases}


@pytest.mark.parametrize("what", FLOOR)
def test_floor(ids: set[str], what: str) -> None:
    missing = [one for glob in FLOOR[what].split(" ") for one in spread(glob) if not matches(one, ids)]
    assert not missing


def test_spread() -> None:
    assert spread("a[{b,c},{d,e}]") == ["a[b,d]", "a[b,e]", "a[c,d]", "a[c,e]"]
    assert spread("a[RW]") == ["a[read]", "a[write]"]
    assert not matches("a[b]", {"a[bc]", "ab"})
