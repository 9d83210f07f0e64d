-- Given to wrk with -s. It defines `done` only: defining `request` or `response` would slow wrk down.

-- A number as JSON. NaN is the only number that differs from itself; wrk has it where nothing was measured.
local function number(value)
  if value ~= value then
    return "null"
  end
  return string.format("%.0f", value)
end

function done(summary, latency, requests)
  local errors = summary.errors
  local fields = {
    { "duration_us", summary.duration },
    { "requests", summary.requests },
    { "bytes", summary.bytes },
    { "connect", errors.connect },
    { "read", errors.read },
    { "write", errors.write },
    { "timeout", errors.timeout },
    { "status", errors.status },
    { "p50_us", latency:percentile(50) },
    { "p75_us", latency:percentile(75) },
    { "p90_us", latency:percentile(90) },
    { "p99_us", latency:percentile(99) },
    { "p999_us", latency:percentile(99.9) },
    { "max_us", latency.max },
  }
  local json = {}
  for i, field in ipairs(fields) do
    json[i] = string.format('"%s":%s', field[1], number(field[2]))
  end
  print("rungs-done {" .. table.concat(json, ",") .. "}")
end
