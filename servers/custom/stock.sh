echo "give the script that starts it: preset = \"start.sh\", with {port} and {site} in it" >&2
exit 2 # nothing listens on {{ port }}
