<prompt schema="city-guide">
  <user><traveller name="Anna"/><winter/><oslo/><lisbon/>What does the flag of Oslo show?</user>
</prompt>
