#pragma once

#include <c10/util/Exception.h>

#include <exception>

#include <medley/base/interrupt.h>
#include <medley/testing/checks.h>

namespace medley::check {

// What fn adds to the findings, and as one more what it throws: a check that fails says no less than one that
// finds.
template <typename Fn>
Findings Caught(const Fn& fn) {
  Findings findings;
  try {
    fn(findings);
  } catch (const Interrupted&) {
    throw;
  } catch (const c10::Error& error) {
    findings.emplace_back(error.what_without_backtrace());
  } catch (const std::exception& error) {
    findings.emplace_back(error.what());
  }
  return findings;
}

}  // namespace medley::check
