#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <medley/plugin/plugin_host.h>

namespace medley {

// Samples the rows on the CPU, page-locked where a GPU will copy them; on the account of the data side. On
// any thread, several at once; operations stay on it meanwhile: a data thread must not take the trainer's
// cores, and what is sampled must not depend on whose thread it is.
Batch SampleRows(const LoadedTask& task, const RowRange& rows, at::Device device);
// Samples the same rows on the account of whoever calls, and not locked: to be looked at at once.
Batch SampleAlone(const LoadedTask& task, const RowRange& rows);

// Makes rows that came some other way page-locked where a GPU will copy them; else they are handed back.
Batch ReadyFor(at::Device device, Batch rows);

// Every term of the variant has its items in the batch, and none more than the spec allows. Else an Error
// with both.
void CheckItems(const LoadedTask& task, const Batch& batch);

// The integer columns "tokens" and "NAME.tokens" hold ids of the vocabulary (0: of none that is known). Else
// an Error with the column, row and id. A model on the CPU checks its ids itself.
void CheckTokens(const LoadedTask& task, const Batch& batch, std::int64_t vocabulary);

}  // namespace medley
