#pragma once

#include <string>

#include "spec_reader.h"

namespace medley {

AbiInfo HostAbi();

// All differences in one sentence, with both sides and the cure; "" where there is none.
std::string AbiDifferences(const AbiInfo& plugin, const AbiInfo& host);

}  // namespace medley
