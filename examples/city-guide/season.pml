<prompt schema="city-guide">
  <user><traveller name="Felix"/><autumn/><vienna/><prague/>Which season is it?</user>
</prompt>
