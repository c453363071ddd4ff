#pragma once

namespace medley {

// Sets what the libraries below libtorch read of the environment when they are opened, each where the user
// has not: so before the first of them is opened, and before there is a second thread. Processes that are
// started later inherit it. The medley command calls it first. In a program that is linked to libtorch the
// linker opens them before main, so that there it is too late: start such a program with these variables.
//
// OMP_WAIT_POLICY=passive: threads of OpenMP that wait for each other sleep. By default they spin, for some
// milliseconds each time; beside any other load, which takes a core from one of them, all the others then
// burn their time. A user's OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME stays as it is.
//
// ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16, where ATEN_CPU_CAPABILITY asks for less than AVX-512 of a CPU with
// AMX: attention of half types would pack for AMX by kernels that ATen has for AVX-512 alone, and throw.
void PrepareLibraries();
// The second of these alone, which oneDNN reads when it first computes: a run that is put together in any
// program calls it. A user's DNNL_MAX_CPU_ISA, oneDNN's other name, stays.
void MatchKernels();
void MatchKernels(bool has_amx);  // of a CPU that has AMX or not

// Whether, by the environment as it is now, threads that wait spin.
bool WaitingThreadsSpin();

}  // namespace medley
