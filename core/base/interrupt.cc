#include <medley/base/interrupt.h>

#include <atomic>

namespace medley {
namespace {

std::atomic<bool> g_requested = false, g_held = false, g_save_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

}  // namespace

Interrupted::Interrupted()
    : Error("interrupted: what was under way is given up, nothing of it is kept", ExitCode::kInterrupted) {}
Interrupted::~Interrupted() = default;

void RequestInterrupt() noexcept { g_requested = true; }
void ForgetInterrupt() noexcept { g_requested = false; }
bool InterruptRequested() noexcept { return g_requested && !g_held; }
bool InterruptAsked() noexcept { return g_requested; }

HeldInterrupts::HeldInterrupts() { g_held = true; }
HeldInterrupts::~HeldInterrupts() { g_held = false; }
void HeldInterrupts::Release() noexcept {
  g_held = false;
  RequestInterrupt();
}

void RequestSave() noexcept { g_save_requested = true; }
bool TakeSaveRequest() noexcept { return g_save_requested.exchange(false); }

void HeedInterrupt() {
  if (InterruptRequested()) throw Interrupted();
}

}  // namespace medley
