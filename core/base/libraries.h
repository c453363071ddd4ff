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
void PrepareLibraries();

// Whether, by the environment as it is now, threads that wait spin.
bool WaitingThreadsSpin();

}  // namespace medley
