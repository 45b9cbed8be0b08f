# Without it there is nobody to wait for.
for program in redis-server redis-cli redis-benchmark; do command -v "$program" >/dev/null || exit 1; done
redis-server --port 0 --unixsocket /tmp/redis.sock --save '' --daemonize no --logfile /tmp/redis.log &
until redis-cli -s /tmp/redis.sock ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s /tmp/redis.sock -t set,get,lpush -n 2000 -c 5 -r 100 >/dev/null 2>&1
redis-cli -s /tmp/redis.sock llen mylist
redis-cli -s /tmp/redis.sock shutdown nosave
wait
echo done
