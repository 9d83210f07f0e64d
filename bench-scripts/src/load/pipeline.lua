-- Before `done.lua` where requests are pipelined: their number is the argument behind the URL. wrk asks `wrk.format` for
-- its request once, before it begins, and counts the requests in it; so nothing of this runs while it measures.
function init(args)
  local depth = tonumber(args[1])
  local format = wrk.format
  wrk.format = function(...)
    return string.rep(format(...), depth)
  end
end

