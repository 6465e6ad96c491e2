#pragma once

/// \file
/// JSON forms of the events.

#include <kernelgen/store/event.hpp>

#include "core/json_codec.hpp"
#include "device/gpu_json.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(RunStarted, (), (kernelgen_version, task, target, policy, options, model))
BOOST_DESCRIBE_STRUCT(RunResumed, (), (kernelgen_version))
BOOST_DESCRIBE_STRUCT(RunContinued, (), (kernelgen_version, policy, options, model))
BOOST_DESCRIBE_STRUCT(TaskDescribed, (), (description, device, gpu, threads))
BOOST_DESCRIBE_STRUCT(ActionIssued, (), (number, action, prompt))
BOOST_DESCRIBE_STRUCT(RequestSent, (), (number))
BOOST_DESCRIBE_STRUCT(RequestPending, (), (number))
BOOST_DESCRIBE_STRUCT(RequestUnknown, (), (number))
BOOST_DESCRIBE_STRUCT(Prices, (), (per_million_input, per_million_output, per_million_cached, per_million_cache_write))
BOOST_DESCRIBE_STRUCT(ReplyArrived, (), (number, reply, cost, endpoint, prices))
BOOST_DESCRIBE_STRUCT(RequestFailed, (), (number, code, message, endpoint))
BOOST_DESCRIBE_STRUCT(RequestDeferred, (), (number, code, message, endpoint))
BOOST_DESCRIBE_STRUCT(ActionReopened, (), (action_id))
BOOST_DESCRIBE_STRUCT(ActionFinished, (), (result))
BOOST_DESCRIBE_STRUCT(ProfileTaken, (), (action_id, profile, headroom))
BOOST_DESCRIBE_STRUCT(BestChanged, (), (action_id))
BOOST_DESCRIBE_STRUCT(BudgetExhausted, (), (which, message))
BOOST_DESCRIBE_STRUCT(RunFinished, (), (reason, reached))

}  // namespace v0
}  // namespace kernelgen
