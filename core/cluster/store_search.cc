#include <medley/cluster/store_search.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <medley/base/error.h>
#include <medley/base/machine.h>
#include <medley/cluster/backend_group.h>
#include <medley/cluster/patient_call.h>
#include <medley/cluster/store_group.h>

namespace medley {
namespace {

using Clock = std::chrono::steady_clock;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

// Of one try to reach the host; between two of them.
constexpr std::chrono::milliseconds kSearchCall{2000}, kSearchPause{200};
constexpr std::chrono::milliseconds kOwnStore{60000};  // until one that this process keeps is open
constexpr int kTries = 3;                              // with what listens there and is no store

// Whether somebody called; the last word of a call may still be under way.
bool Comes(const Descriptor& listening) {
  constexpr int kLooks = 25;
  constexpr std::chrono::milliseconds kComes{20};
  for (int look = 0; look < kLooks; ++look) {
    if (Accept(listening).ok()) return true;
    std::this_thread::sleep_for(kComes);
  }
  return false;
}

}  // namespace

std::string StoreText(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string RunIn(c10d::Store& store) {
  return store.check({kRunKey}) ? StoreText(store.get(kRunKey)) : std::string();
}

std::optional<Announcement> AnnouncementIn(const std::string& text) {
  try {
    return AnnouncementFrom(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

StorePtr StoreSearch::Open() {
  return setting_.place.rank == 0 && !setting_.place.store_is_kept ? OpenAsFirst() : OpenAsOther();
}

Call StoreSearch::CallHost() const {
  return CallPatiently(
      [host = setting_.place.host, port = setting_.place.port] { return CallTo(host, port, kSearchCall); },
      setting_.heed);
}

// Its connections may wait without an end. To a store that this process keeps itself it is at most slow.
StorePtr StoreSearch::Try(const std::string& host, bool keeps) {
  const std::chrono::milliseconds limit = keeps ? kOwnStore : setting_.answer;
  const auto deadline = Clock::now() + limit;
  RankPlace place = setting_.place;
  place.host = host;
  return CallPatiently([place, keeps, limit] { return OpenTcpStore(place, keeps, limit); },
                       [&] {
                         setting_.heed();
                         if (Clock::now() > deadline) throw std::runtime_error("no answer");
                       });
}

// Rank 0 reaches its own store by the name that the others have: where that leads elsewhere, they would
// wait for ever.
StorePtr StoreSearch::OpenAsFirst() {
  for (;;) {
    const Descriptor listening = Listen(setting_.place.port);
    const int error = listening.ok() ? 0 : errno;
    if (error == EADDRINUSE)
      throw InputError(
          "port " + std::to_string(setting_.place.port) +
          " of this machine, by which the processes of the run are to find each other, is in use by " +
          WhoListens("127.0.0.1") +
          ". Give this run another one: MASTER_PORT, the same for all its processes, or medley launch "
          "--port");
    if (error != 0)
      throw InputError("port " + std::to_string(setting_.place.port) + " of this machine cannot be had: " +
                       std::strerror(error) + ". Choose another MASTER_PORT");
    const Call call = CallHost();
    if (call.ok() && Comes(listening)) break;
    const std::string problem =
        "rank 0 runs on " + HostName() + ", and " + setting_.place.Where() + " does not lead there (" +
        (call.ok() ? "another machine answers, with " + WhoListens(setting_.place.host) : call.problem) +
        "): the others do not find it. MASTER_ADDR has to be an address of rank 0's machine";
    if (call.ok()) throw InputError(problem);
    setting_.tell(problem, true);
    WaitPatiently(kSearchCall, setting_.heed);
  }
  setting_.tell("", false);
  try {
    return Try(setting_.place.host, true);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error("the store of the run cannot be opened at " + setting_.place.Where() + ": " +
                C10dWords(error));
  }
}

// Words about the run whose store is there, or what else is.
std::string StoreSearch::WhoListens(const std::string& host) {
  try {
    const StorePtr store = Try(host, false);
    const auto text = CallPatiently([store] { return RunIn(*store); }, setting_.heed);
    const auto other = AnnouncementIn(text);
    return other ? other->LongWords() : "the store of another launcher";
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    return "another program";
  }
}

StorePtr StoreSearch::OpenAsOther() {
  for (int tries = 0;;) {
    const Call call = CallHost();
    setting_.tell(call.problem, !call.has_address);  // that is likely mistyped
    if (call.ok()) {
      try {
        return Try(setting_.place.host, false);
      } catch (const Error&) {
        throw;
      } catch (const std::exception& error) {
        setting_.tell("what listens there is no store: " + C10dWords(error), false);
        if (++tries == kTries)
          throw InputError(
              "at " + setting_.place.Where() +
              " something listens that does not answer as rank 0 of a run (" + C10dWords(error) +
              "). Is it another program's port? Give all processes of the run another MASTER_PORT");
      }
    }
    WaitPatiently(kSearchPause, setting_.heed);
  }
}

}  // namespace medley
